"""What a column of a table can show, by which definition, and how it is read from the folder of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuter.measure.metrics import FIGURES

Line = dict[str, Any]
SPEED = "images/s"  # the one figure that says something of the machine


@dataclass(frozen=True)
class Column:
    """One figure of a run.

    ranked: more of it is better, so that the best row can be told; read: from summary.json and the line of the last
    test in metrics.jsonl, None where a run has no such figure.
    """

    label: str
    definition: str
    read: Callable[[Line, Line], float | None]
    digits: int = 1
    ranked: bool = False


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _scores(when: str, told: str) -> dict[str, Column]:
    def column(figure: str) -> Column:
        definition = f"{FIGURES[figure]}, {told}"
        return Column(f"{when} {_short(figure)}", definition, lambda s, _: s[when][figure], ranked=True)

    return {f"{when}.{figure}": column(figure) for figure in FIGURES}


def _with_regions(columns: dict[str, Column]) -> dict[str, Column]:
    """Return the same columns of a prediction with regions; a run that was tested without has no such figure."""

    def column(whole: Column) -> Column:
        return replace(
            whole,
            label=f"{whole.label}, regions",
            definition=f"{whole.definition}, predicted from the image and its regions",
            read=lambda s, t: whole.read(s["regions"], t) if "regions" in s else None,
        )

    return {f"regions.{name}": column(whole) for name, whole in columns.items()}


def _short(figure: str) -> str:
    return {"map": "mAP", "cf1": "CF1", "of1": "OF1"}[figure[:3]]


WHOLE = _scores("average", "mean over the tests after each task") | _scores("last", "after the last task")

COLUMNS: dict[str, Column] = {
    **WHOLE,
    **_with_regions(WHOLE),
    "forgetting": Column(
        "forgetting", "best earlier AP minus last AP, mean over classes", lambda s, _: s["mean_forgetting"]
    ),
    "items": Column("items", "items in memory at the end", lambda s, _: s["memory_items"], digits=0),
    "most": Column("most", "items of the most frequent class in memory", lambda _, t: max(t["classes"].values()), 0),
    "least": Column("least", "items of the least frequent class in memory", lambda _, t: min(t["classes"].values()), 0),
    "purity": Column(
        "pure", "cut-outs in memory that hold their label by the true boxes", lambda _, t: _percent(t.get("purity"))
    ),
    "corloc": Column(
        "CorLoc",
        "probe images whose first region meets an object with IoU > 0.5, after the last task",
        lambda _, t: _percent(t["localisation"].get("corloc")),
    ),
    "ap50": Column(
        "AP50",
        "average precision of all regions of the probe images against the boxes, IoU > 0.5, after the last task",
        lambda _, t: _percent(t["localisation"].get("ap50")),
    ),
    "fiedler": Column(
        "Fiedler",
        "average Fiedler value on the probe images, after the last task",
        lambda _, t: t["localisation"].get("fiedler"),
        digits=3,
    ),
    SPEED: Column(
        "images/s",
        "stream images learned a second, beside all else that ran",
        lambda s, _: s["train_images_per_second"],
    ),
}


def read_figures(summary: Line, tests: Sequence[Line], columns: tuple[str, ...]) -> dict[str, float | None]:
    """Return the figures of a finished run."""
    return {name: COLUMNS[name].read(summary, tests[-1]) for name in columns}
