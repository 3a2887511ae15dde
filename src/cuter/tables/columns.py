"""The figures of a run: what each is called and means, and how it is read from the record of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cuter.measure.metrics import FIGURES
from cuter.runs.record import RunRecord

SPEED = "images/s"  # the one figure that depends on the machine
FORGETTING = "mean over classes of the best earlier AP minus the last AP"
SHORT = {"map": "mAP", "cf1": "CF1", "of1": "OF1"}  # by the first letters of a figure

# The definitions that the CUTER paper reports.
SHOWN = {"map": "mAP", "cf1_mean@0.8": "CF1 (mean of F1) @0.8", "of1@0.8": "OF1 @0.8"}

Figures = dict[str, float | None]  # by the names of columns


@dataclass(frozen=True)
class Column:
    """One figure of a run.

    Args:
        label: Short name, for a head of one line.
        definition: What is measured.
        read: Reads it from the record of a run; None where a run has no such figure.
        digits: After the point.
        better: Which value is the best one; None where neither is.
        head: Group and name, for a head of two lines.
    """

    label: str
    definition: str
    read: Callable[[RunRecord], float | None]
    digits: int = 1
    better: Literal["max", "min"] | None = None
    head: tuple[str, str] = ("", "")

    @property
    def is_ranked(self) -> bool:
        """Whether the tables of suites mark the best row."""
        return self.better == "max"

    def text(self, value: float | None, *, thousands: str = "") -> str:
        """Write a value; one that is rounded to 0 has no sign."""
        return "–" if value is None else f"{value:z{thousands}.{self.digits}f}"


def _scores(when: Literal["average", "last"], definition: str, *, regions: bool = False) -> dict[str, Column]:
    """Return the columns of all figures, averaged over the tests or of the last one."""

    def column(figure: str) -> Column:
        def read(record: RunRecord) -> float | None:
            summary = record.summary and record.summary.with_regions if regions else record.summary
            return None if summary is None else (summary.average if when == "average" else summary.last)[figure]

        short = SHORT[figure[:3]]
        label, meaning = f"{when} {short}", f"{FIGURES[figure]}, {definition}"
        if regions:
            label, meaning = f"{label}, regions", f"{meaning}, predicted from the image and its regions"
        return Column(label, meaning, read, better="max", head=(short, when))

    return {f"{'regions.' if regions else ''}{when}.{figure}": column(figure) for figure in FIGURES}


def _last_test(name: str, part: str | None = None) -> Callable[[RunRecord], float | None]:
    """Read a share that was measured with the last test, in percent."""

    def read(record: RunRecord) -> float | None:
        line = record.tests[-1] if record.tests else {}
        value = (line if part is None else line.get(part) or {}).get(name)
        return None if value is None else 100 * value

    return read


def _held(choose: Callable[[list[int]], int]) -> Callable[[RunRecord], float | None]:
    """Read the number of items of one class that memory held after the last test."""
    return lambda record: choose(list(record.tests[-1]["classes"].values())) if record.tests else None


AVERAGE, LAST = "mean over the tests after each task", "after the last task"

COLUMNS: dict[str, Column] = {
    **_scores("average", AVERAGE),
    **_scores("last", LAST),
    **_scores("average", AVERAGE, regions=True),
    **_scores("last", LAST, regions=True),
    "forgetting": Column(
        "forgetting",
        "best earlier AP minus last AP, mean over classes",
        lambda record: record.summary.mean_forgetting if record.summary else None,
        better="min",
        head=("Forgetting", "mean"),
    ),
    "items": Column(
        "items", "items in memory at the end", lambda record: record.memory_items, digits=0, head=("Memory", "items")
    ),
    "most": Column("most", "items of the most frequent class in memory", _held(max), digits=0),
    "least": Column("least", "items of the least frequent class in memory", _held(min), digits=0),
    "purity": Column("pure", "cut-outs in memory that hold their label by the true boxes", _last_test("purity")),
    "corloc": Column(
        "CorLoc",
        "probe images whose first region meets an object with IoU > 0.5, after the last task",
        _last_test("corloc", "localisation"),
    ),
    "ap50": Column(
        "AP50",
        "average precision of all regions of the probe images against the boxes, IoU > 0.5, after the last task",
        _last_test("ap50", "localisation"),
    ),
    "fiedler": Column(
        "Fiedler",
        "average Fiedler value on the probe images, after the last task",
        lambda record: (record.tests[-1].get("localisation") or {}).get("fiedler") if record.tests else None,
        digits=3,
    ),
    SPEED: Column(
        "images/s",
        "stream images learned a second, beside all else that ran",
        lambda record: record.images_per_second,
        head=("Speed", "images/s"),
    ),
}

# What the report and `cuter compare` show of every run, finished or not.
RUN_COLUMNS = (*(f"{when}.{figure}" for figure in SHOWN for when in ("average", "last")), "forgetting", SPEED, "items")


def read_figures(record: RunRecord, columns: tuple[str, ...]) -> Figures:
    """Return the figures of a run by column."""
    return {name: COLUMNS[name].read(record) for name in columns}
