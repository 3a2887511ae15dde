"""How long the runs of a table will be, read from their data before the first of them begins."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuter.backbone import load_backbone
from cuter.runs.plan import Plan, make_plan
from cuter.settings import Role
from cuter.tables.jobs import Job


def check_backbones(jobs: Sequence[Job]) -> None:
    """Load the backbones of runs that are not finished: one that can't be loaded is an error here, not in every run."""
    for name in dict.fromkeys(job.config.backbone for job in jobs if job.summary is None):
        load_backbone(name)


@dataclass(frozen=True)
class Stream:
    """How long a run will be: its steps, and the images that arrive in them, repeated ones included."""

    steps: int
    images: int


def streams_of(jobs: Sequence[Job]) -> dict[Path, Stream]:
    """Return the streams of runs that are not finished, by folder; the same data are read once.

    A data set that can't be read is an error here, not in every run.
    """
    known: dict[str, Stream] = {}
    found = {}
    for job in jobs:
        if job.summary is None:
            stream = json.dumps(job.config.of_role(Role.STREAM), sort_keys=True, default=str)
            if stream not in known:
                known[stream] = _measure(make_plan(job.config))
            found[job.folder] = known[stream]
    return found


def steps_of(jobs: Sequence[Job]) -> list[int]:
    """Return how many steps each run takes, or took."""
    streams = streams_of(jobs)
    return [streams[job.folder].steps if job.folder in streams else int((job.summary or {})["steps"]) for job in jobs]


def _measure(plan: Plan) -> Stream:
    return Stream(sum(map(len, plan.learn)), sum(len(batch) for batches in plan.learn for batch in batches))
