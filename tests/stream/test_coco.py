import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cuter.errors import DataError
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.samples import Box

CATEGORIES = [{"id": 90, "name": "toothbrush"}, {"id": 1, "name": "person"}, {"id": 17, "name": "cat"}]


def annotation(image: int, category: int, bbox: tuple[float, ...] = (1, 2, 3, 4), crowd: int = 0) -> dict[str, Any]:
    return {
        "id": 1,
        "image_id": image,
        "category_id": category,
        "bbox": list(bbox),
        "iscrowd": crowd,
        "segmentation": [[0, 0, 1, 1]],
    }


def write(root: Path, split: str, annotations: list[Any], images: int = 3, folder: str = "") -> None:
    names = [f"COCO_{split}_{index:012}.jpg" for index in range(images)]
    content = {
        "info": {"year": 2014},
        "categories": CATEGORIES,
        "images": [{"id": index, "file_name": name, "width": 8} for index, name in enumerate(names)],
        "annotations": annotations,
    }
    (root / "annotations").mkdir(parents=True, exist_ok=True)
    (root / "annotations" / f"instances_{split}.json").write_text(json.dumps(content))
    (root / folder / split).mkdir(parents=True, exist_ok=True)
    for name in names:
        Image.new("RGB", (8, 8)).save(root / folder / split / name)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, "train2014", [annotation(0, 90), annotation(0, 1), annotation(2, 1)])
    write(tmp_path, "val2014", [annotation(1, 17)])
    return tmp_path


def test_reads_labels_by_name_and_leaves_out_unlabelled_images(root: Path):
    assert detect(root) == "coco"
    data = load_dataset("coco", root)
    assert data.classes == ("cat", "person", "toothbrush")
    assert [(s.id, set(s.labels)) for s in data.train] == [
        ("train2014/COCO_train2014_000000000000", {"toothbrush", "person"}),
        ("train2014/COCO_train2014_000000000002", {"person"}),
    ]
    assert [set(s.labels) for s in data.test] == [{"cat"}]
    assert data.train[0].boxes[0] == Box("toothbrush", 1, 2, 4, 6)
    assert data.train[0].path == root / "train2014" / "COCO_train2014_000000000000.jpg"


def test_a_crowd_is_a_label_without_a_box_and_so_is_a_box_without_area(root: Path):
    write(root, "train2014", [annotation(0, 1, crowd=1), annotation(0, 17, bbox=(1, 1, 0, 5)), annotation(1, 1)])
    crowd, alone = load_dataset("coco", root).train
    assert (set(crowd.labels), crowd.boxes) == ({"person", "cat"}, ())
    assert len(alone.boxes) == 1


def test_another_year_with_images_in_a_common_folder(tmp_path: Path):
    write(tmp_path, "train2017", [annotation(0, 1)], folder="images")
    write(tmp_path, "val2017", [annotation(0, 1)], folder="images")
    data = load_dataset("coco", tmp_path, year="2017")
    assert data.train[0].path.is_file()
    with pytest.raises(
        DataError, match=r"instances_train2014\.json: no such file\. Present: instances_train2017\.json"
    ):
        load_dataset("coco", tmp_path)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (annotation(0, 5), r"annotations\[1\]: field 'category_id' is 5, which no category has"),
        (annotation(7, 1), r"annotations\[1\]: field 'image_id' is 7, which no image has"),
        ({"image_id": 0, "bbox": [1, 2, 3, 4]}, r"field 'annotations\[1\]\.category_id': Field required"),
        (annotation(0, 1, bbox=(1, 2, 3)), r"field 'annotations\[1\]\.bbox\[3\]': Field required"),
        (
            annotation(0, 1, bbox=(1, 2, 3, float("nan"))),
            r"field 'annotations\[1\]\.bbox\[3\]': Input should be a finite number",
        ),
        (17, r"field 'annotations\[1\]': Input should be .*, not '17'"),
    ],
)
def test_malformed_annotation(root: Path, bad: Any, message: str):
    write(root, "train2014", [annotation(0, 1), bad])
    with pytest.raises(DataError, match=r"instances_train2014\.json: " + message):
        load_dataset("coco", root)


def test_malformed_files(root: Path):
    file = root / "annotations" / "instances_val2014.json"
    file.write_text('{"images": [')
    with pytest.raises(DataError, match=r"instances_val2014\.json: Invalid JSON: EOF"):
        load_dataset("coco", root)
    file.write_text("{}")
    with pytest.raises(DataError, match=r"instances_val2014\.json: field 'categories': Field required"):
        load_dataset("coco", root)


def test_file_name_that_leaves_the_folder(root: Path):
    file = root / "annotations" / "instances_train2014.json"
    file.write_text(file.read_text().replace("COCO_train2014_000000000000.jpg", "../../secret.jpg"))
    with pytest.raises(
        DataError, match=r"images\[0\]: field 'file_name': '\.\./\.\./secret\.jpg' must be a path relative"
    ):
        load_dataset("coco", root)


def test_missing_folders(root: Path):
    (root / "val2014").rename(root / "elsewhere")
    with pytest.raises(DataError, match=r"no folder of images\. Looked for val2014/ and images/val2014/"):
        load_dataset("coco", root)


def test_a_split_without_labels(root: Path):
    write(root, "val2014", [])
    with pytest.raises(DataError, match="the test split of 'coco' holds no image"):
        load_dataset("coco", root)


def export(file: Path, names: list[str], images: Path) -> None:
    categories = [{"id": 0, "name": "things", "supercategory": "none"}, *CATEGORIES]  # as Roboflow writes them
    content = {
        "categories": categories,
        "images": [{"id": index, "file_name": name} for index, name in enumerate(names)],
        "annotations": [annotation(index, 17 if index % 2 else 1) for index in range(len(names))],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    for name in names:
        image = images / name.replace("\\", "/")
        image.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(image, "PNG")


@pytest.mark.parametrize(
    ("file", "prefix", "images"),
    [
        ("_annotations.coco.json", "", "."),
        ("result.json", "images/", "."),  # Label Studio
        ("result.json", "images\\", "."),  # the same on Windows
        ("annotations/instances_default.json", "", "images"),  # CVAT
    ],
)
def test_an_export_in_one_file_is_divided(tmp_path: Path, file: str, prefix: str, images: str):
    names = [f"{prefix}{number}.jpg" for number in range(40)] + [f"{prefix}0.png"]
    export(tmp_path / file, names, tmp_path / images)
    assert detect(tmp_path) == "coco"
    data = load_dataset("coco", tmp_path, test_share=0.4)
    assert data.classes == ("cat", "person")
    assert len({sample.id for sample in (*data.train, *data.test)}) == 41
    assert all(sample.path.is_file() for sample in (*data.train, *data.test))
    assert 5 < len(data.test) < 30
    assert data.train[0].boxes[0].x2 == 4


def test_an_export_with_a_folder_a_split(tmp_path: Path):
    for split in ("train", "valid"):
        export(tmp_path / split / "_annotations.coco.json", ["1.jpg", "2.jpg"], tmp_path / split)
    assert detect(tmp_path) == "coco"
    data = load_dataset("coco", tmp_path)
    assert [s.id for s in (*data.train, *data.test)] == ["train/1.jpg", "train/2.jpg", "valid/1.jpg", "valid/2.jpg"]
    assert data.test[0].path == tmp_path / "valid" / "1.jpg"


def test_exports_that_cannot_be_told_apart(tmp_path: Path):
    with pytest.raises(DataError, match=r"needs annotations/instances_train\*\.json, or one export .* Found none"):
        load_dataset("coco", tmp_path)
    export(tmp_path / "result.json", ["1.jpg"], tmp_path)
    export(tmp_path / "_annotations.coco.json", ["1.jpg"], tmp_path)
    with pytest.raises(DataError, match=r"Found _annotations\.coco\.json, result\.json"):
        load_dataset("coco", tmp_path)
