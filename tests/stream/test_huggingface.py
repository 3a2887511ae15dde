import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.images import read_image

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NAMES = ["cat", "dog", "bird"]
LABELS = [[0], [1, 2], [], [2], [0]]
KNOWN = [["cat"], None, ["bird", "cat"], None, None]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUTER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "huggingface"


def photo(number: int) -> dict[str, Any]:
    file = io.BytesIO()
    Image.new("RGB", (8 + number, 8)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": f"IMG_{number}.png"}


def table(kind: str = "List", **columns: Any) -> Any:
    """Return rows as `datasets` keeps them: names of numbers are noted beside the columns."""
    columns = {"image": [photo(number) for number in range(5)], "labels": LABELS, "known": KNOWN} | columns
    feature: Any = {"names": NAMES, "_type": "ClassLabel"}
    if kind != "ClassLabel":
        feature = [feature] if kind == "list" else {"feature": feature, "_type": kind}
    features = {"image": {"_type": "Image"}, "labels": feature}
    noted = {b"huggingface": json.dumps({"info": {"features": features}}).encode()}
    return pa.table({name: column for name, column in columns.items() if column}).replace_schema_metadata(noted)


def save_to_disk(folder: Path, rows: Any, shards: int = 2) -> None:
    folder.mkdir(parents=True)
    step = -(-len(rows) // shards)
    files = [f"data-{shard:05}-of-{shards:05}.arrow" for shard in range(shards)]
    for shard, file in enumerate(files):
        with pa.OSFile(str(folder / file), "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows.slice(shard * step, step), max_chunksize=2)
    state = {"_data_files": [{"filename": file} for file in files], "_fingerprint": "0", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))


def save_splits(root: Path, **splits: Any) -> None:
    for name, rows in splits.items():
        save_to_disk(root / name, rows)
    (root / "dataset_dict.json").write_text(json.dumps({"splits": list(splits)}))


def parquet(file: Path, rows: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, file, row_group_size=2)


@pytest.mark.parametrize("kind", ["List", "Sequence", "list"])  # what versions of `datasets` call it
def test_splits_that_datasets_saved(tmp_path: Path, cache: Path, kind: str):
    root = tmp_path / "data"
    save_splits(root, train=table(kind), test=table(kind))
    assert detect(root) == "huggingface"
    data = load_dataset("huggingface", root)
    assert data.classes == ("cat", "dog", "bird")
    assert [set(sample.labels) for sample in data.train] == [{"cat"}, {"dog", "bird"}, set(), {"bird"}, {"cat"}]
    assert [sample.known for sample in data.test] == [{"cat"}, None, {"bird", "cat"}, None, None]
    assert [sample.id for sample in data.train] == [f"train/{number}" for number in range(5)]
    assert [read_image(sample.path).size for sample in data.test] == [(8 + number, 8) for number in range(5)]

    (folder,) = cache.iterdir()
    data.train[0].path.write_bytes(b"changed")
    assert load_dataset("huggingface", root).train[0].path.read_bytes() == b"changed", "it is copied once"
    file = root / "test" / "data-00000-of-00002.arrow"
    file.write_bytes(file.read_bytes())
    assert load_dataset("huggingface", root).train[0].path.parent.parent != folder, "unless a file has changed"


def test_one_data_set_is_divided(tmp_path: Path):
    save_to_disk(tmp_path / "data", table(known=None))
    data = load_dataset("huggingface", tmp_path / "data", test_share=0.4)
    assert sorted(sample.id for sample in (*data.train, *data.test)) == [f"train/{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (["data/train-00000-of-00002", "data/train-00001-of-00002"], ["data/test-00000-of-00001"]),
        (["default/train/0000", "default/train/0001"], ["default/validation/0000"]),
        (["train"], ["valid"]),
    ],
)
def test_parquet_files_of_the_hub(tmp_path: Path, train: list[str], test: list[str]):
    for name in (*train, *test):
        parquet(tmp_path / f"{name}.parquet", table())
    data = load_dataset("huggingface", tmp_path)
    assert (len(data.train), len(data.test)) == (5 * len(train), 5)
    assert [read_image(sample.path).size for sample in data.train[-2:]] == [(11, 8), (12, 8)]


def test_one_label_names_as_text_and_images_as_bytes(tmp_path: Path):
    rows = pa.table({"img": [photo(number)["bytes"] for number in range(4)], "label": ["cup", "cup ", "lamp", None]})
    parquet(tmp_path / "all.parquet", rows)
    data = load_dataset("huggingface", tmp_path, test_share=0.5)
    assert data.classes == ("cup", "lamp")
    assert len(data.train) + len(data.test) == 3, "the last one is not annotated yet"


def test_rows_without_a_label_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    parquet(tmp_path / "all.parquet", table("ClassLabel", labels=[0, -1, None, 2, 1], known=None))
    data = load_dataset("huggingface", tmp_path, test_share=0.5)
    assert len(data.train) + len(data.test) == 3
    assert "2 images of 'all' are not annotated yet" in caplog.text


def test_paths_beside_the_files(tmp_path: Path):
    for number in range(4):
        Image.new("RGB", (8, 8)).save(tmp_path / f"{number}.jpg")
    paths = [f"{number}.jpg" for number in range(4)]
    parquet(tmp_path / "all.parquet", pa.table({"photo": paths, "tags": [["cup"]] * 4}))
    with pytest.raises(DataError, match=r"no column 'image' or 'img'; .*image_column=NAME.* Accepted: photo, tags"):
        load_dataset("huggingface", tmp_path)
    data = load_dataset("huggingface", tmp_path, image_column="photo", labels_column="tags", test_share=0.5)
    assert {sample.path for sample in (*data.train, *data.test)} == {tmp_path / path for path in paths}
    parquet(tmp_path / "all.parquet", pa.table({"image": ["../1.jpg", None], "labels": [["cup"]] * 2}))
    with pytest.raises(DataError, match="2 faults were found") as caught:
        load_dataset("huggingface", tmp_path)
    assert "all.parquet row 1: column 'image': '../1.jpg' must be a path relative" in str(caught.value)
    assert "all.parquet row 2: column 'image'" in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"labels": [[0], [3], [0], [0], [0]]},
            r"row 2: column 'labels' must hold names or numbers from 0 to 2, not 3",
        ),
        ({"labels": [[0], [None], [0], [0], [0]]}, r"row 2: column 'labels' must hold names .*, not None"),
        ({"known": [["dog"], None, None, None, None]}, r"row 1: column 'labels' has 'cat', which is not in 'known'"),
        ({"image": [photo(0)] * 4 + [None]}, r"row 5: column 'image': holds no image"),
        (
            {"image": [photo(0)] * 4 + [{"bytes": None, "path": "/x/1.jpg"}]},
            r"row 5: column 'image': only names the file '/x/1\.jpg'; save the data set with its images in it",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_row(tmp_path: Path, columns: dict[str, Any], message: str):
    parquet(tmp_path / "data.parquet", table(**columns))
    with pytest.raises(DataError, match=r"data\.parquet " + message):
        load_dataset("huggingface", tmp_path)


def test_numbers_without_names(tmp_path: Path):
    parquet(tmp_path / "data.parquet", table().replace_schema_metadata(None))
    with pytest.raises(DataError, match=r"must hold names, not 0"):
        load_dataset("huggingface", tmp_path)


def test_splits_have_names(tmp_path: Path):
    for name in ("training", "holdout"):
        parquet(tmp_path / f"{name}.parquet", table())
    with pytest.raises(
        DataError, match=r"no split 'train'; .*train=NAME\. Did you mean 'training'\? Accepted: holdout"
    ):
        load_dataset("huggingface", tmp_path)
    with pytest.raises(DataError, match=r"no split 'test'; name another with --dataset-options test=NAME"):
        load_dataset("huggingface", tmp_path, train="training")
    data = load_dataset("huggingface", tmp_path, train="training", test="holdout")
    assert (data.train[0].id, data.test[0].id) == ("training/0", "holdout/0")


def test_damaged_files(tmp_path: Path, cache: Path):
    with pytest.raises(DataError, match=r"no data set of Hugging Face\. Looked for dataset_dict\.json"):
        load_dataset("huggingface", tmp_path)
    (tmp_path / "data.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match=r"data\.parquet: cannot be read"):
        load_dataset("huggingface", tmp_path)
    parquet(tmp_path / "train.parquet", table())
    parquet(tmp_path / "data.parquet", table(known=None))
    with pytest.raises(DataError, match=r"data\.parquet: has no column 'known', which other files"):
        load_dataset("huggingface", tmp_path, test="data")
    save_to_disk(tmp_path / "saved", table())
    file = tmp_path / "saved" / "data-00001-of-00002.arrow"
    file.write_bytes(file.read_bytes()[:700])
    whole = list(cache.iterdir())
    with pytest.raises(DataError, match=r"data-00001-of-00002\.arrow: cannot be read"):
        load_dataset("huggingface", tmp_path / "saved")
    assert list(cache.iterdir()) == whole, "nothing half-copied stays"
    state = tmp_path / "saved" / "state.json"
    for content, message in (
        ("[", "not JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "does not name its files"),
        ('{"_data_files": [{"filename": "../x.arrow"}]}', "must be a path relative"),
        ('{"_data_files": [], "_indices_data_files": [{}]}', "a choice of rows, saved by an old version of datasets"),
    ):
        state.write_text(content)
        with pytest.raises(DataError, match=message):
            load_dataset("huggingface", tmp_path / "saved")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parquet(tmp_path / "data.parquet", table())
    for name in ("pyarrow", "pyarrow.ipc", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"needs pyarrow:  pip install 'cuter\[parquet\]'"):
        load_dataset("huggingface", tmp_path)
