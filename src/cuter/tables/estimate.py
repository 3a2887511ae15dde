"""What the runs of a table will still cost: steps, images, disk, and time as finished runs took here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cuter.backbone import load_backbone
from cuter.runs.record import read_position
from cuter.storage import bytes_in
from cuter.tables.jobs import Job
from cuter.tables.streams import Stream

BYTES_PER_PARAMETER = 3 * 4  # in a checkpoint: the weight and two moments of AdamW, as float32


@dataclass(frozen=True)
class Cost:
    """What is left to do."""

    runs: int
    steps: int
    images: int
    bytes: float
    seconds: float | None  # None while no run is finished here
    guessed: tuple[str, ...] = ()  # rows without a finished run, whose time is the mean of others

    def lines(self, at_once: int) -> list[str]:
        """Return the cost in words, for so many runs at a time."""
        at_once = max(1, min(at_once, self.runs))
        texts = [
            f"{self.steps:,} steps over {self.images:,} images to learn",
            f"they need about {self.bytes / 1e9:.1f} GB",
        ]
        if self.seconds is None:
            return [*texts, "how long it takes is not known until a first run is finished here"]
        hours = timedelta(seconds=round(self.seconds / at_once))
        texts.append(f"about {hours} with {at_once} at a time, as finished runs took here")
        if self.guessed:
            texts.append(f"rows without a finished run count as the mean of the others: {', '.join(self.guessed)}")
        return texts


def estimate(jobs: Sequence[Job], streams: Mapping[Path, Stream]) -> Cost:
    """Sum up what runs that are not finished will take; `streams` has these, by folder."""
    unique = list({job.folder: job for job in jobs}.values())
    left = [job for job in unique if job.folder in streams]
    rates = _seconds_per_step(jobs)
    usual = sum(rates.values()) / len(rates) if rates else 0.0
    steps = images = 0
    seconds = 0.0
    for job in left:
        stream = streams[job.folder]
        ahead = stream.steps - read_position(job.folder).steps
        steps += ahead
        images += round(stream.images * ahead / max(stream.steps, 1))
        seconds += ahead * rates.get(job.row.name, usual)
    guessed = tuple(dict.fromkeys(job.row.name for job in left if job.row.name not in rates))
    known = (seconds, guessed) if rates else (None, ())
    return Cost(len(left), steps, images, _bytes(unique, left), *known)


def _seconds_per_step(jobs: Sequence[Job]) -> dict[str, float]:
    """Return by row how long a step took in runs that were finished here, tests and probes included."""
    found: dict[str, list[float]] = {}
    for job in jobs:
        if (summary := job.summary_here) is not None:  # how fast other machines are says nothing
            seconds = summary["train_seconds"] + summary["test_seconds"]
            found.setdefault(job.row.name, []).append(seconds / max(summary["steps"], 1))
    return {name: sum(values) / len(values) for name, values in found.items()}


def _bytes(jobs: Sequence[Job], left: Sequence[Job]) -> float:
    """Return the disk that runs will need: as much as finished ones have, else the parts of a checkpoint each."""
    sizes = [bytes_in(job.folder) for job in jobs if job.summary_here is not None]
    if sizes:
        return len(left) * sum(sizes) / len(sizes)
    backbones = {name: load_backbone(name) for name in {job.config.backbone for job in left}}
    total = 0.0
    for job in left:
        backbone = backbones[job.config.backbone]
        parameters = sum(parameter.numel() for parameter in backbone.parameters())
        total += parameters * BYTES_PER_PARAMETER + job.config.learner.memory.images * 3 * backbone.image_size**2
    return total


def free_bytes(folder: Path) -> int:
    """Return how much is free on the disk that a folder is on, or will be."""
    while not folder.exists():
        folder = folder.absolute().parent
    return shutil.disk_usage(folder).free
