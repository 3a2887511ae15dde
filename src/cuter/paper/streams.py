"""What the runs of a table will meet, looked at before the first of them begins."""

from __future__ import annotations

import json
from collections.abc import Sequence

from cuter.backbone import load_backbone
from cuter.experiment.plan import make_plan
from cuter.paper.jobs import Job

# Of a run's settings, those that decide how many steps it takes; with another seed it takes as many.
DECIDING = {
    "dataset", "data_root", "dataset_options", "tasks", "class_order", "shown", "passes", "blurry", "batch_size",
    "limit_train", "limit_test",
}  # fmt: skip


def check_backbones(jobs: Sequence[Job]) -> None:
    """Load the backbones of runs that are not finished: one that can't be loaded is an error here, not in every run."""
    for name in dict.fromkeys(job.config.backbone for job in jobs if job.summary is None):
        load_backbone(name)


def steps_of(jobs: Sequence[Job]) -> list[int]:
    """Return how many steps each run takes. A data set that can't be read is an error here, not in every run."""
    known: dict[str, int] = {}
    steps = []
    for job in jobs:
        if (summary := job.summary) is not None:  # its data need not be here
            steps.append(int(summary["steps"]))
            continue
        stream = json.dumps(job.config.model_dump(mode="json", include=DECIDING), sort_keys=True)
        if stream not in known:
            known[stream] = sum(map(len, make_plan(job.config).learn))
        steps.append(known[stream])
    return steps
