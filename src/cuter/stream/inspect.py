"""What a split holds, and which of its files cannot be read."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from cuter.errors import DataError
from cuter.stream.images import path_text, read_squashed
from cuter.stream.labels import alike
from cuter.stream.samples import Dataset, class_counts

Split = Literal["train", "test"]
SPLITS: tuple[Split, ...] = ("train", "test")

Progress = Callable[[int, int], None]  # (images decoded so far, images in all)

CHUNK = 64  # images a work item: enough to make handing it over cheap, few enough to show progress


@dataclass(frozen=True)
class Inspection:
    """Facts about one split.

    `imbalance` is the image count of the most frequent class over that of the least frequent one that occurs at all;
    `boxed_share` is the share of images with at least one box; `partly_known` are images where nobody looked for some
    class; `alike` are groups of classes that differ only in case, blanks or unseen characters. `unreadable` tells the
    reason by path; it is None where no image was decoded.
    """

    dataset: str
    split: str
    images: int
    classes: int
    labels_mean: float
    labels_max: int
    unlabelled: int
    partly_known: int
    imbalance: float | None
    empty_classes: int
    boxed_share: float
    alike: list[tuple[str, ...]]
    counts: dict[str, int] = field(repr=False)
    unreadable: dict[str, str] | None = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the same facts as plain values for JSON."""
        return asdict(self)


def inspect(
    dataset: Dataset,
    split: Split,
    *,
    decode: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Look at a split and, with `decode`, read each image of it in `workers` threads (by default one a core)."""
    samples = dataset.train if split == "train" else dataset.test
    present = class_counts(samples)
    counts = {name: present[name] for name in dataset.classes}
    occurring = [count for count in counts.values() if count]
    labels = [len(sample.labels) for sample in samples]
    return Inspection(
        dataset=dataset.name,
        split=split,
        images=len(samples),
        classes=len(dataset.classes),
        labels_mean=_share(sum(labels), len(samples)),
        labels_max=max(labels, default=0),
        unlabelled=labels.count(0),
        partly_known=sum(sample.known is not None and not sample.known >= set(dataset.classes) for sample in samples),
        imbalance=max(occurring) / min(occurring) if occurring else None,
        empty_classes=len(counts) - len(occurring),
        boxed_share=_share(sum(bool(sample.boxes) for sample in samples), len(samples)),
        alike=alike(dataset.classes),
        counts=counts,
        unreadable=find_unreadable([sample.path for sample in samples], workers, progress) if decode else None,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def find_unreadable(
    paths: Sequence[Path], workers: int | None = None, progress: Progress | None = None
) -> dict[str, str]:
    """Read images, and return by path why one cannot be read."""
    chunks = [paths[start : start + CHUNK] for start in range(0, len(paths), CHUNK)]
    faults: dict[str, str] = {}
    done = 0
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for chunk, found in zip(chunks, pool.map(_faults, chunks), strict=True):
            faults |= found
            done += len(chunk)
            if progress is not None:
                progress(done, len(paths))
    return faults


def _faults(paths: Sequence[Path]) -> dict[str, str]:
    faults = {}
    for path in paths:
        try:
            read_squashed(path, size=1)  # reads the file to its end, but builds as few pixels as JPEG allows
        except DataError as error:
            name = path_text(path)
            faults[name] = str(error).removeprefix(f"{name}: ")
    return faults
