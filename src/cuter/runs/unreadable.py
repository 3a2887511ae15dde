"""How many images of a run may be unreadable before it stops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cuter.errors import DataError
from cuter.runs.plan import Plan
from cuter.stream.images import path_text
from cuter.stream.tasks import StreamSample

NAMED = 3  # of the unreadable files


class UnreadableLimit:
    """Stops a run as soon as it is certain that too many of its training or test images are unreadable.

    Of each kind the images of the whole run are counted, each of them once, however often it comes. So one bad image
    among the first two stops nothing, and a resumed run counts as one that was never stopped.
    """

    def __init__(self, plan: Plan, limit: float):
        visits = (visit for batches in plan.learn for batch in batches for visit in batch)
        self.paths = {"training": _paths(visits), "test": _paths(plan.test[-1])}  # the last test has all test images
        self.limit = limit

    def check(self, skipped: Mapping[str, str], go_on: str) -> None:
        """Raise `DataError` if there are too many among `skipped`, reasons by path."""
        for kind, paths in self.paths.items():
            bad = [path for path in skipped if path in paths]
            if len(bad) > self.limit * len(paths):
                some = "; ".join(skipped[path] for path in bad[:NAMED])
                raise DataError(
                    f"{len(bad)} of {len(paths)} {kind} images are unreadable so far, more than max_unreadable "
                    f"{self.limit:g} allows: {some}{' …' if len(bad) > NAMED else ''} "
                    f"Mend the files, then go on with: {go_on} (or allow more there with --max-unreadable)"
                )


def _paths(visits: Iterable[StreamSample]) -> frozenset[str]:
    return frozenset(path_text(visit.sample.path) for visit in visits)
