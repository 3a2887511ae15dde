from pathlib import Path

import pytest
import torch

from cuter.errors import DataError
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_squashed
from cuter.stream.loading import decode_batches, load_batches
from cuter.stream.samples import Sample
from cuter.stream.tasks import StreamSample, in_batches, make_tasks, plan_stream


@pytest.fixture
def batches(shapes: Path) -> list[list[StreamSample]]:
    dataset = load_dataset("folder", shapes)
    (visits,) = plan_stream(dataset.train, make_tasks("8", dataset.classes), seed=0)
    return in_batches(visits, 7)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order_with_their_pixels_and_labels(batches: list[list[StreamSample]], workers: int) -> None:
    names = ["circle", "star"]
    visits = [[StreamSample(v.sample, frozenset(names)) for v in batch] for batch in batches]
    loaded = list(load_batches(visits, names, 32, workers=workers))
    assert [item.batch.ids for item in loaded] == [tuple(v.sample.id for v in batch) for batch in batches]
    last, visit = loaded[-1].batch, batches[-1][-1]
    assert torch.equal(last.images[-1], read_squashed(visit.sample.path, 32))
    assert last.labels[-1].tolist() == [name in visit.sample.labels for name in names]


def test_starting_in_the_middle_gives_the_same_batches(batches: list[list[StreamSample]]) -> None:
    names = sorted(batches[0][0].known)
    whole = list(load_batches(batches, names, 32, workers=1))
    rest = list(load_batches(batches, names, 32, workers=1, start=3))
    assert len(rest) == len(whole) - 3
    assert all(
        torch.equal(a.batch.images, b.batch.images) and a.batch.ids == b.batch.ids
        for a, b in zip(whole[3:], rest, strict=True)
    )
    assert list(load_batches(batches, names, 32, workers=1, start=len(batches))) == []


@pytest.fixture
def with_damage(batches: list[list[StreamSample]], tmp_path: Path) -> list[list[StreamSample]]:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"not an image")
    bad = StreamSample(Sample("bad", broken, frozenset({"star"})), frozenset({"star"}))
    gone = StreamSample(Sample("gone", tmp_path / "gone.jpg", frozenset({"star"})), frozenset({"star"}))
    return [[batches[0][0], bad, batches[0][1]], [gone]]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_unreadable_image_is_left_out_and_named(with_damage: list[list[StreamSample]], workers: int) -> None:
    names = sorted(with_damage[0][0].known)
    first, second = load_batches(with_damage, names, 32, workers=workers)
    assert first.batch.ids == (with_damage[0][0].sample.id, with_damage[0][2].sample.id)
    assert [(item.id, Path(item.path).name) for item in first.skipped] == [("bad", "broken.jpg")]
    assert "broken.jpg" in first.skipped[0].reason
    assert len(second.batch) == 0
    assert second.skipped[0].id == "gone"


def test_strict_makes_it_an_error(with_damage: list[list[StreamSample]]) -> None:
    names = sorted(with_damage[0][0].known)
    with pytest.raises(DataError, match=r"broken\.jpg.*strict"):
        list(load_batches(with_damage, names, 32, workers=1, strict=True))


def test_no_more_processes_are_started_than_there_are_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def loader(dataset: object, *, num_workers: int, **options: object) -> list[object]:
        asked.append(num_workers)
        return []

    monkeypatch.setattr(torch.utils.data, "DataLoader", loader)
    assert list(decode_batches([["a"], ["b"], ["c"]], lambda _: torch.empty(0), 8, workers=200, start=1)) == []
    assert asked == [2]
