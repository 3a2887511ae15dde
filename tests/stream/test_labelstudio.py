import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.samples import Box, Dataset, Sample

EXPORT = "project-3-at-2026-01-31-12-00-0a1b2c3d.json"


def choices(*names: str) -> dict[str, Any]:
    return {"type": "choices", "value": {"choices": list(names)}, "from_name": "tags", "to_name": "image"}


def rectangle(*names: str, **changes: Any) -> dict[str, Any]:
    value = {"x": 10, "y": 25, "width": 50, "height": 50, "rotation": 0, "rectanglelabels": list(names)} | changes
    return {"type": "rectanglelabels", "original_width": 40, "original_height": 20, "value": value}


def annotation(*results: dict[str, Any], cancelled: bool = False) -> dict[str, Any]:
    return {"id": 1, "result": list(results), "was_cancelled": cancelled, "ground_truth": False}


def task(image: Any, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 1, "data": {"image": image, "who": "me"}, "annotations": list(annotations), "predictions": []}


def write(root: Path, *tasks: Any) -> None:
    (root / EXPORT).write_text(json.dumps(tasks))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("desk/1.jpg", "images/2-a b.jpg", "upload/3/3.jpg", "4.jpg", "5.jpg", "6.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 20)).save(tmp_path / name)
    return tmp_path


def samples(data: Dataset) -> dict[str, Sample]:
    return {sample.id: sample for sample in (*data.train, *data.test)}


def test_a_project_with_everything(root: Path, caplog: pytest.LogCaptureFixture):
    write(
        root,
        task("/data/local-files/?d=desk%2F1.jpg", annotation(choices("cup", "lamp"))),
        task("/data/upload/3/2-a%20b.jpg", annotation(rectangle("cup"), rectangle("lamp", rotation=30))),
        task("/data/upload/3/3.jpg", annotation(choices("cup")), annotation(choices("lamp"), rectangle("cup"))),
        task("4.jpg", annotation(choices("bad"), cancelled=True)),
        task("5.jpg"),
        task("C:\\photos\\6.jpg", annotation()),
    )
    assert detect(root) == "labelstudio"
    data = load_dataset("labelstudio", root, test_share=0.5)
    assert data.classes == ("cup", "lamp")
    found = samples(data)
    assert {id: set(sample.labels) for id, sample in found.items()} == {
        "desk/1.jpg": {"cup", "lamp"},
        "images/2-a b.jpg": {"cup", "lamp"},
        "upload/3/3.jpg": {"cup", "lamp"},
        "6.jpg": set(),
    }
    assert found["images/2-a b.jpg"].boxes == (Box("cup", 4, 5, 24, 15),)
    assert all(sample.path.is_file() for sample in found.values())
    assert "2 images are not annotated yet, and left out" in caplog.text


def test_other_shapes_are_labels_and_other_answers_are_none(root: Path):
    polygon = {"type": "polygonlabels", "value": {"points": [[1, 2], [3, 4], [5, 1]], "polygonlabels": ["cup"]}}
    rating = {"type": "rating", "value": {"rating": 4}}
    write(root, *(task(f"{number}.jpg", annotation(polygon, rating)) for number in (4, 5, 6)))
    found = samples(load_dataset("labelstudio", root, test_share=0.5))
    assert all((set(sample.labels), sample.boxes) == ({"cup"}, ()) for sample in found.values())


def test_a_rectangle_over_the_border_is_cut_at_it(root: Path):
    tasks = [task(f"{number}.jpg", annotation(rectangle("cup", x=60, width=40.005))) for number in (4, 5, 6)]
    write(root, *tasks)
    box = samples(load_dataset("labelstudio", root, test_share=0.5))["4.jpg"].boxes[0]
    assert (box.x1, box.x2) == (24, 40)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            task("https://example.org/1.jpg", annotation()),
            r"field 'data\.image' is an address, 'https.*nothing is down",
        ),
        (task("s3://bucket/1.jpg", annotation()), r"is an address"),
        (task("../1.jpg", annotation()), r"field 'data\.image': .* must be a path relative"),
        (task("/data/local-files/?x=1", annotation()), r"field 'data\.image': .* it names no file"),
        (task(["1.jpg"], annotation()), r"field 'data\.image' must be a path, not"),
        (
            task("4.jpg", annotation(rectangle("cup", x="left"))),
            r"a rectangle: field 'x': Input should be a valid number",
        ),
        (task("4.jpg", annotation(rectangle("cup", width=140))), r"a rectangle: field 'width': .*less than or equal"),
        (task("4.jpg", annotation(rectangle("cup") | {"original_width": None})), r"a rectangle has no original_width"),
        (
            task("4.jpg", annotation({"type": "choices", "value": {"choices": [3]}})),
            r"must be a list of names, not '\[3\]",
        ),
        ({"data": {"image": "1.jpg"}}, r"field 'annotations': Field required"),
        ({"image": "1.jpg", "choice": "cup"}, r"field 'data': Field required; export .* as JSON, not as JSON-MIN"),
        (3, r"Input should be a valid dictionary"),
    ],
)
def test_every_fault_is_named_by_its_task(root: Path, bad: Any, message: str):
    write(root, task("4.jpg", annotation(choices("cup"))), bad)
    with pytest.raises(DataError, match=r"\.json: task 2: .*" + message):
        load_dataset("labelstudio", root)
    write(root, bad, bad)
    with pytest.raises(DataError, match="2 faults were found"):
        load_dataset("labelstudio", root)


def test_files_that_are_no_export(root: Path):
    with pytest.raises(DataError, match=r"needs one export of Label Studio, named project-.* Found none"):
        load_dataset("labelstudio", root)
    (root / "labelstudio.json").write_text("{}")
    with pytest.raises(DataError, match=r"labelstudio\.json: not a list of tasks"):
        load_dataset("labelstudio", root)
    write(root)
    with pytest.raises(DataError, match=r"Found 2: labelstudio\.json, project-3"):
        load_dataset("labelstudio", root)
    (root / "labelstudio.json").unlink()
    write(root, task("4.jpg", annotation()))
    with pytest.raises(DataError, match="no image has a label"):
        load_dataset("labelstudio", root)


def test_the_image_in_another_field(root: Path):
    tasks = [task("x", annotation(choices("cup"))) | {"data": {"photo": f"{number}.jpg"}} for number in (4, 5, 6)]
    write(root, *tasks)
    with pytest.raises(ConfigError, match=r"has no field 'image', but photo: .*image_field=NAME"):
        load_dataset("labelstudio", root)
    assert len(samples(load_dataset("labelstudio", root, image_field="photo", test_share=0.5))) == 3
