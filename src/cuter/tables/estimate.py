"""What a table will still cost: time, as runs took so far, and room on the disk."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from cuter.backbone import load_backbone
from cuter.runs.record import read_position
from cuter.tables.jobs import Job
from cuter.tables.streams import Stream

FLOATS = 3 * 4  # bytes a parameter in a checkpoint: the weight and two moments of AdamW


@dataclass(frozen=True)
class Cost:
    """What is left to do."""

    runs: int
    bytes: float
    seconds: float | None  # None while nothing is known
    guessed: tuple[str, ...]  # rows whose time is the mean of others

    def lines(self, at_once: int) -> list[str]:
        """Tell it in words."""
        at_once = max(1, min(at_once, self.runs))
        texts = [f"they need about {self.bytes / 1e9:.1f} GB"]
        if self.seconds is None:
            return [*texts, "how long it takes is not known: no run was finished or could be measured"]
        hours = timedelta(seconds=round(self.seconds / at_once))
        texts.append(f"about {hours} with {at_once} at a time, as finished or short runs took here")
        if self.guessed:
            texts.append(f"rows that could not be measured count as the mean of the others: {', '.join(self.guessed)}")
        return texts


def estimate(jobs: Sequence[Job], streams: Mapping[Path, Stream], rates: Mapping[str, float]) -> Cost:
    """Sum up what the runs that are not finished will take; `rates` are seconds a step by row."""
    unique = list({job.folder: job for job in jobs}.values())
    left = [job for job in unique if job.folder in streams]
    usual = sum(rates.values()) / len(rates) if rates else None
    seconds_left = 0.0
    for job in left:
        steps_left = streams[job.folder].steps - read_position(job.folder).steps
        seconds_left += steps_left * rates.get(job.row.name, usual or 0)
    guessed = tuple(dict.fromkeys(job.row.name for job in left if job.row.name not in rates))
    return Cost(len(left), _bytes(unique, left), None if usual is None else seconds_left, guessed if rates else ())


def _bytes(jobs: Sequence[Job], left: Sequence[Job]) -> float:
    """Return the room that runs will need: as much as finished ones have, else a checkpoint each by its parts."""
    sizes = [_size(job.folder) for job in jobs if job.summary_here is not None]
    if sizes:
        return len(left) * sum(sizes) / len(sizes)
    backbones = {name: load_backbone(name) for name in {job.config.backbone for job in left}}
    total = 0.0
    for job in left:
        backbone = backbones[job.config.backbone]
        parameters = sum(parameter.numel() for parameter in backbone.parameters())
        total += parameters * FLOATS + job.config.learner.memory.images * 3 * backbone.image_size**2
    return total


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def free_bytes(folder: Path) -> int:
    """Return the room on the disk that a folder is on, or will be."""
    while not folder.exists():
        folder = folder.absolute().parent
    return shutil.disk_usage(folder).free
