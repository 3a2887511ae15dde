"""What the runs of a table will meet, looked at before the first of them begins."""

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
    """How long a run will be: steps, and how many images it learns and tests in the end."""

    steps: int
    train: int
    test: int


def streams_of(jobs: Sequence[Job]) -> dict[Path, Stream]:
    """Return what runs that are not finished will meet, by folder; the same data are read once.

    A data set that can't be read is an error here, not in every run.
    """
    known: dict[str, Stream] = {}
    found = {}
    for job in jobs:
        if job.summary is None:
            stream = json.dumps(job.config.of_role(Role.STREAM), sort_keys=True, default=str)
            if stream not in known:
                known[stream] = _look_at(make_plan(job.config))
            found[job.folder] = known[stream]
    return found


def steps_of(jobs: Sequence[Job]) -> list[int]:
    """Return how many steps each run takes, or took."""
    streams = streams_of(jobs)
    return [streams[job.folder].steps if job.folder in streams else int((job.summary or {})["steps"]) for job in jobs]


def _look_at(plan: Plan) -> Stream:
    images = {visit.sample.id for batches in plan.learn for batch in batches for visit in batch}
    return Stream(sum(map(len, plan.learn)), len(images), len(plan.test[-1]))
