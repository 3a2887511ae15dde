import io
import json
from pathlib import Path

import pytest
from PIL import Image
from rich.console import Console

from cuter.show.dataset_tables import inspection_tables
from cuter.stream.inspect import CHUNK, inspect
from cuter.stream.samples import Box, Dataset, Sample


def sample(root: Path, name: str, *labels: str, known: set[str] | None = None, boxes: int = 0) -> Sample:
    path = root / name
    if not path.exists():
        Image.new("RGB", (8, 8)).save(path)
    found = tuple(Box(labels[0], 0, 0, 1, 1) for _ in range(boxes))
    return Sample(name, path, frozenset(labels), None if known is None else frozenset(known), found)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    (tmp_path / "broken.jpg").write_text("not an image")
    train = [
        sample(tmp_path, "1.png", "cup", "lamp", "[red]", boxes=2),
        sample(tmp_path, "2.png", "cup", known={"cup"}),
        sample(tmp_path, "3.png", "cup"),
        sample(tmp_path, "broken.jpg"),
    ]
    return Dataset("folder", ("cup", "lamp", "[red]", "plant"), train, [sample(tmp_path, "5.png", "plant")])


def test_facts(dataset: Dataset, tmp_path: Path):
    facts = inspect(dataset, "train", workers=2)
    assert (facts.dataset, facts.split, facts.images, facts.classes) == ("folder", "train", 4, 4)
    assert (facts.labels_mean, facts.labels_max, facts.unlabelled) == (5 / 4, 3, 1)
    assert (facts.imbalance, facts.empty_classes) == (3.0, 1)
    assert (facts.boxed_share, facts.partly_known) == (0.25, 1)
    assert facts.counts == {"cup": 3, "lamp": 1, "[red]": 1, "plant": 0}
    assert list(facts.unreadable) == [str(tmp_path / "broken.jpg")]
    assert "not an image" in facts.unreadable[str(tmp_path / "broken.jpg")]
    assert str(tmp_path) not in facts.unreadable[str(tmp_path / "broken.jpg")]


def test_without_decoding(dataset: Dataset):
    facts = inspect(dataset, "test", decode=False)
    assert (facts.images, facts.unreadable) == (1, None)


def test_progress_counts_every_image_and_order_is_kept(tmp_path: Path):
    count = 2 * CHUNK + 3
    missing = [Sample(str(i), tmp_path / f"{i}.jpg", frozenset({"cup"})) for i in range(count)]
    heard: list[tuple[int, int]] = []
    facts = inspect(Dataset("d", ("cup",), missing, []), "train", progress=lambda *step: heard.append(step))
    assert heard == [(CHUNK, count), (2 * CHUNK, count), (count, count)]
    assert list(facts.unreadable) == [str(s.path) for s in missing]


def test_an_empty_split(tmp_path: Path):
    facts = inspect(Dataset("d", ("cup",), [], []), "test")
    assert (facts.images, facts.labels_mean, facts.imbalance, facts.empty_classes) == (0, 0.0, None, 1)


def test_json_round_trip(dataset: Dataset):
    facts = inspect(dataset, "train")
    assert json.loads(json.dumps(facts.as_dict()))["counts"]["cup"] == 3


def test_tables(dataset: Dataset):
    console = Console(width=200, record=True, file=io.StringIO())
    for table in inspection_tables([inspect(dataset, "train"), inspect(dataset, "test", decode=False)]):
        console.print(table)
    rows = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    assert "images 4 1" in rows
    assert "labels an image (mean) 1.25 1.00" in rows
    assert "most / least frequent class 3.0 1.0" in rows
    assert "images with boxes 25% 0%" in rows
    assert "unreadable files 1 not checked" in rows
    assert "[red] 1 0" in rows  # a class name is not markup
