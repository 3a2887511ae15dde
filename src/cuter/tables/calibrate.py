"""How long a step takes here, for rows of which nothing is finished: a short run of each, as the real ones would go."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cuter.runs.config import RunConfig
from cuter.runs.stopping import Interrupted
from cuter.storage import write_json
from cuter.tables.execute.execute import Failure, Place, carry_out
from cuter.tables.jobs import Job, digest
from cuter.tables.streams import Stream

IMAGES = 60  # learned in a short run

Rates = dict[str, float]  # seconds a step, tests and probes included, by row


def known_rates(jobs: Sequence[Job], out: Path, at_once: int) -> Rates:
    """Return how long steps took in finished runs, else in short ones that were made before, as many at a time."""
    measured = _read(out)
    found: dict[str, list[float]] = {}
    for job in jobs:
        if (summary := job.summary_here) is not None:  # how fast other machines are says nothing
            seconds = summary["train_seconds"] + summary["test_seconds"]
            found.setdefault(job.row.name, []).append(seconds / max(summary["steps"], 1))
    at_once = _at_a_time(jobs, at_once)
    rates = {job.row.name: measured[key] for job in jobs if (key := _key(job, at_once)) in measured}
    return rates | {name: sum(values) / len(values) for name, values in found.items()}


def calibrate(
    jobs: Sequence[Job],
    streams: Mapping[Path, Stream],
    out: Path,
    place: Place,
    *,
    at_once: int,
    seconds: float,
    tell: Callable[[int, int], None],
) -> None:
    """Carry out a short run of each row that nothing is known of, as many at a time as there will be; keep its rate.

    Where the rows are fewer than that, they are repeated. `tell` is called with the number of short runs that ended,
    and of all. One that fails is left out: the real one will tell why. Asked to stop, or after some seconds, it raises
    `Interrupted`; what was measured until then is kept.
    """
    rates = known_rates(jobs, out, at_once)
    rows = list({job.row.name: job for job in reversed(jobs) if job.row.name not in rates}.values())
    at_once = _at_a_time(jobs, at_once)
    with tempfile.TemporaryDirectory() as folder:
        short = [
            replace(job, config=_shortened(job.config, streams[job.folder]), folder=Path(folder) / "runs" / str(number))
            for number, job in enumerate(itertools.islice(itertools.cycle(rows), max(len(rows), at_once)))
        ]
        try:
            carry_out(short, at_once, place, _Counter(tell, len(short), time.monotonic() + seconds))
        finally:  # what ended before a stop is known
            out.mkdir(parents=True, exist_ok=True)
            measured = {_key(row, at_once): rate for row, run in zip(rows, short, strict=False) if (rate := _rate(run))}
            write_json(_file(out), _read(out) | measured)


def _rate(job: Job) -> float | None:
    """Return seconds a whole batch; in a short run many are not whole."""
    summary = job.summary
    if summary is None or not summary["images"]:
        return None
    seconds_an_image = float(summary["train_seconds"] + summary["test_seconds"]) / float(summary["images"])
    return seconds_an_image * job.config.batch_size


def _shortened(config: RunConfig, stream: Stream) -> RunConfig:
    """Return a run that is the same in little: as many tests and probes for an image as the whole has."""
    share = min(1.0, IMAGES / max(stream.train, 1))
    return config.model_copy(
        update={
            "limit_train": round(stream.train * share),
            "limit_test": max(1, round(stream.test * share)),
            "probe_images": round(config.probe_images * share),
            "track": [],  # nobody wants to hear of it
        }
    )


def _at_a_time(jobs: Sequence[Job], at_once: int) -> int:
    """Return how many runs will share the cores: few that are left have more cores each."""
    return min(at_once, len({job.folder for job in jobs if job.summary is None}))


def _key(job: Job, at_once: int) -> str:
    """Return a name for all that decides how long a step takes; seeds do not."""
    return f"{digest(job.config.model_copy(update={'seed': 0}))[:16]} {job.config.device} {at_once}"


def _file(out: Path) -> Path:
    return out / "calibration.json"


def _read(out: Path) -> Rates:
    try:
        return dict(json.loads(_file(out).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


class _Counter:
    """Watches short runs and tells how many ended, up to a time."""

    def __init__(self, tell: Callable[[int, int], None], total: int, until: float):
        self.tell, self.total, self.until, self.ended = tell, total, until, 0

    def began(self, job: Job) -> None:
        self.tell(self.ended, self.total)

    def moved(self, job: Job) -> None:
        if time.monotonic() > self.until:
            raise Interrupted

    def finished(self, job: Job, seconds: float) -> None:
        self.ended += 1
        self.tell(self.ended, self.total)

    def failed(self, failure: Failure) -> None:
        self.finished(failure.job, 0)

    def lost(self, job: Job, why: str) -> None:
        pass

    def waits(self, job: Job, other: str) -> None:
        pass

    def stops(self, jobs: list[Job]) -> None:
        pass
