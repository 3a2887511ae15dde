from pathlib import Path

import pytest
import torch

from cuter.errors import BatchError
from cuter.stream.batch import Batch


def images(count: int) -> torch.Tensor:
    return torch.zeros(count, 3, 8, 8, dtype=torch.uint8)


def test_from_names_with_one_list_of_known_classes() -> None:
    batch = Batch.of(images(2), [["cat"], []], known=["cat", "dog"])
    assert batch.names == ("cat", "dog")
    assert batch.labels.tolist() == [[True, False], [False, False]]
    assert batch.known.all()


def test_from_names_with_known_classes_an_image() -> None:
    batch = Batch.of(images(2), [["cat"], ["car"]], known=[["cat", "dog"], ["car"]])
    assert batch.names == ("cat", "dog", "car")
    assert batch.known.tolist() == [[True, True, False], [False, False, True]]


def test_known_defaults_to_the_labels_of_the_batch() -> None:
    batch = Batch.of(images(2), [["cat"], ["dog"]])
    assert batch.known.all()
    assert batch.labels.tolist() == [[True, False], [False, True]]


def test_aligning_adds_unknown_columns_and_moves_by_name() -> None:
    batch = Batch.of(images(1), [["dog"]], known=["dog", "cat"]).aligned(("bird", "cat", "dog"))
    assert batch.labels.tolist() == [[False, False, True]]
    assert batch.known.tolist() == [[False, True, True]]


def test_aligning_to_fewer_columns_is_refused() -> None:
    with pytest.raises(BatchError, match="'dog'"):
        Batch.of(images(1), [["dog"]]).aligned(("cat",))


def test_an_empty_batch_is_a_batch() -> None:
    batch = Batch.of(images(0), [])
    assert len(batch) == 0
    assert batch.aligned(("cat",)).labels.shape == (0, 1)


YES = torch.ones(2, 1, dtype=torch.bool)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": torch.zeros(2, 3, 8, 8)}, r"uint8 tensor of shape \(B, 3, H, W\), not torch.float32"),
        ({"images": torch.zeros(2, 8, 8, 3, dtype=torch.uint8)}, r"not torch.uint8 \(2, 8, 8, 3\); images.permute"),
        ({"images": images(2).numpy()}, "not ndarray; read_images makes one of files"),
        ({"images": images(3)}, "3 images, but Batch.ids names 2"),
        ({"labels": YES.int()}, "Batch.labels must be bool"),
        ({"known": YES[:1]}, r"Batch.known must be bool of shape \(2, 1\)"),
        ({"names": ("cat", "cat"), "labels": YES.repeat(1, 2), "known": YES.repeat(1, 2)}, "twice"),
        ({"known": ~YES}, "image 'a' has label 'cat', but Batch.known says nobody looked for it"),
    ],
)
def test_a_wrong_batch_is_refused_with_the_field(change: dict[str, object], message: str) -> None:
    fields = {"images": images(2), "labels": YES, "known": YES, "names": ("cat",), "ids": ("a", "b")}
    with pytest.raises(BatchError, match=message):
        Batch(**(fields | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [["cat", "dog"], [[1], [2]], [1, 0], [None, ["cat"]], torch.zeros(2, 3), "ab"])
def test_what_is_no_list_of_names_is_refused(labels: object) -> None:
    with pytest.raises(BatchError, match="labels must be a list of class names for each image"):
        Batch.of(images(2), labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("known", ["cat", [1, 2], ["cat", ["dog"]], iter("ab")])
def test_what_is_no_list_of_known_classes_is_refused(known: object) -> None:
    with pytest.raises(BatchError, match="known must be a list of class names"):
        Batch.of(images(2), [["cat"], []], known=known)  # type: ignore[arg-type]


def test_names_are_cleaned() -> None:
    batch = Batch.of(images(2), [["cafe\u0301 "], ["caf\u00e9"]])
    assert batch.names == ("caf\u00e9",)


def test_wrong_numbers_of_lists_are_refused() -> None:
    with pytest.raises(BatchError, match="2 images, but 1 lists of labels"):
        Batch.of(images(2), [["cat"]])
    with pytest.raises(BatchError, match="2 images, but 1 lists of known"):
        Batch.of(images(2), [["cat"], []], known=[["cat"]])


def test_a_path_is_a_name() -> None:
    batch = Batch.of(images(2), [[], ["cat"]], ids=[Path("a.jpg"), 3])
    assert batch.ids == ("a.jpg", "3")
