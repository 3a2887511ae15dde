"""Any source of labelled images becomes batches."""

import io
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

from cuter.errors import BatchError
from cuter.stream.sources import as_batches

PIXELS = torch.arange(5, dtype=torch.uint8)[:, None, None, None].expand(5, 3, 8, 8) * 50
LABELS = [["cat"], ["dog", "cat"], [], ["bird"], ["cat"]]


def samples() -> list[tuple[torch.Tensor, list[str]]]:
    return list(zip(PIXELS, LABELS, strict=True))


class Photos(Dataset[Any]):
    """As one writes it for torch, without an end of its own."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> tuple[torch.Tensor, list[str]]:
        return PIXELS[index].float() / 255, LABELS[index]


def rows() -> list[dict[str, Any]]:
    images = [Image.new("RGB", (8, 8), (50 * number,) * 3) for number in range(5)]
    numbers = {"bird": 0, "cat": 1, "dog": 2}
    return [{"image": image, "labels": [numbers[n] for n in row]} for image, row in zip(images, LABELS, strict=True)]


class Split:
    """What a split of Hugging Face `datasets` looks like from outside."""

    def __init__(self) -> None:
        labels = SimpleNamespace(feature=SimpleNamespace(names=["bird", "cat", "dog"]))
        self.features = {"image": object(), "labels": labels}

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> dict[str, Any]:
        return rows()[index]


def loader() -> DataLoader[Any]:
    return DataLoader(
        Photos(), batch_size=2, collate_fn=lambda some: (torch.stack([i for i, _ in some]), [r for _, r in some])
    )


def generator() -> Iterator[tuple[torch.Tensor, list[str]]]:
    yield from samples()


@pytest.mark.parametrize(
    "source", [samples(), generator(), Photos(), loader(), Split()], ids=lambda one: type(one).__name__
)
def test_every_source_gives_the_same_batches(source: Any) -> None:
    batches = list(as_batches(source, batch_size=2, size=8, known=["bird", "cat", "dog"]))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert torch.equal(torch.cat([batch.images for batch in batches]), PIXELS)
    found = [
        [name for name, given in zip(batch.names, row, strict=True) if given]
        for batch in batches
        for row in batch.labels.tolist()
    ]
    assert list(map(sorted, found)) == list(map(sorted, LABELS))
    assert all(batch.known.all() for batch in batches)


def test_a_sample_may_say_itself_what_is_known() -> None:
    (batch,) = as_batches([(PIXELS[0], ["cat"], ["cat", "dog"]), (PIXELS[1], ["dog"])], size=8, known=["dog"])
    assert batch.names == ("cat", "dog")
    assert batch.known.tolist() == [[True, True], [False, True]]


def test_paths_bytes_and_one_label_per_image(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    Image.new("RGB", (30, 20), "white").save(file)
    stream = io.BytesIO()
    Image.new("L", (9, 9), 255).save(stream, "PNG")
    (batch,) = as_batches([(file, "cat"), (stream.getvalue(), "dog")], size=16)
    assert batch.images.shape == (2, 3, 16, 16)
    assert (batch.images == 255).all()
    assert batch.names == ("cat", "dog")
    assert batch.known.all(), "by default the labels of the batch are what somebody looked for"


def test_columns_have_other_names_elsewhere() -> None:
    (batch,) = as_batches([{"photo": PIXELS[0], "tags": ["cat"]}], size=8, columns=("photo", "tags"))
    assert batch.names == ("cat",)


def test_an_image_keeps_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    Image.new("RGB", (8, 8)).save(file)
    source = [
        (PIXELS[0], ["cat"]),
        (PIXELS[1], ["cat"], None, "IMG_1.jpg"),
        {"image": PIXELS[2], "labels": [], "known": ["dog"], "id": 7},
        (file, ["cat"]),
        (str(file), ["cat"], ["cat"]),
        {"image": str(file), "labels": ["dog"], "id": "mine"},
        (PIXELS[3], ["cat"]),
    ]
    batches = list(as_batches(source, batch_size=4, size=8, known=["cat", "dog"]))
    assert [id for batch in batches for id in batch.ids] == ["0", "IMG_1.jpg", "7", str(file), str(file), "mine", "6"]
    unknown = batches[0].known[2, batches[0].names.index("cat")]
    assert not unknown, "a mapping says itself what is known, too"


def test_a_loader_may_give_the_names_of_images() -> None:
    first = (PIXELS[:2], [["cat"], []], [["cat"], ["cat"]], ["a.jpg", "b.jpg"])
    (batch,) = as_batches([first], size=8)
    assert batch.ids == ("a.jpg", "b.jpg")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([(PIXELS[0],)], r"a sample is \(image, labels\)"),
        ([3], r"a sample is \(image, labels\).*not int"),
        ([{"image": PIXELS[0]}], "a sample has no 'labels', but image"),
        ([(PIXELS[0], [3])], "labels must be names of classes, not 3"),
        (TensorDataset(PIXELS, torch.zeros(5, 2)), "labels must be names of classes"),
    ],
)
def test_what_is_no_sample_is_named(source: Any, message: str) -> None:
    with pytest.raises(BatchError, match=message):
        list(as_batches(source, size=8))
    with pytest.raises(BatchError, match="batch_size must be at least 1, not 0"):
        list(as_batches(source, batch_size=0))
