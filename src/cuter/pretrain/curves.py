"""A picture of how pre-training went, from metrics.jsonl alone: what was learned, and whether features collapsed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cuter.runs.record import Line, read_metrics
from cuter.show.style import BLUE, DARK, GREY, MEDIUM, ORANGE, SMALL, VERMILION, new_figure, spread_labels, tidy

POINTS = 100  # of a curve: each is the mean of some steps

Curves = Mapping[str, tuple[str, Sequence[float], Sequence[float]]]  # by name: colour, steps, values


def draw_curves(folder: Path, prototypes: int) -> None:
    """Draw curves.png into the folder of a pre-training."""
    lines = read_metrics(folder / "metrics.jsonl")
    learned, scores = ([line for line in lines if kind in line] for kind in ("loss", "score"))
    output = {"loss": BLUE, "entropy": ORANGE, "diversity": VERMILION}
    shares = {"CorLoc": ("corloc", VERMILION, 100), "AP50": ("ap50", ORANGE, 100), "k-NN mAP": ("knn_map", BLUE, 1)}
    found = {label: _scored(scores, *what) for label, what in shares.items()}
    fiedler = _scored(scores, "fiedler", BLUE)
    panels: list[tuple[str, Curves, float | None]] = [
        ("Loss and teacher's output, nats", {key: _binned(learned, key, hue) for key, hue in output.items()}, None),
        ("Spread of embeddings", {"": _binned(learned, "spread", BLUE)}, 1.0),
        ("Fiedler value (lower: easier to cut)", {"": fiedler} if fiedler[1] else {}, None),
        ("Score, percent", {label: curve for label, curve in found.items() if curve[1]}, None),
    ]
    panels = [panel for panel in panels if panel[1]]
    figure = new_figure(3.6 * len(panels), 3)
    for axes, (title, curves, top) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        _draw(axes, title, curves, top)
    first, highest = figure.axes[0], math.log(prototypes)
    first.axhline(highest, color=GREY, linewidth=0.8, zorder=0)
    first.annotate(
        "all prototypes equally likely", (0, highest), (2, 3), textcoords="offset points", fontsize=SMALL, color=DARK
    )
    first.set_ylim(0, 1.15 * max(highest, first.get_ylim()[1] / 1.15))
    figure.savefig(folder / "curves.png")


def _binned(learned: Sequence[Line], key: str, colour: str) -> tuple[str, Sequence[float], Sequence[float]]:
    """Return means over stretches of steps, which show where a curve goes."""
    parts = np.array_split(np.array([[line["step"], line[key]] for line in learned]), min(POINTS, len(learned)))
    means = [part.mean(axis=0).tolist() for part in parts]
    return colour, [step for step, _ in means], [value for _, value in means]


def _scored(
    scores: Sequence[Line], key: str, colour: str, scale: float = 1
) -> tuple[str, Sequence[float], Sequence[float]]:
    points = [(line["step"], scale * line["score"][key]) for line in scores if key in line["score"]]
    return colour, [step for step, _ in points], [value for _, value in points]


def _draw(axes: Any, title: str, curves: Curves, top: float | None) -> None:
    """Draw curves from 0, so that a small change looks small, each with its name and its last value."""
    highest = top or 1.2 * max(max(values) for _, _, values in curves.values())
    heights = spread_labels([values[-1] for _, _, values in curves.values()], highest / 15, low=0)
    for (name, (colour, steps, values)), height in zip(curves.items(), heights, strict=True):
        axes.plot(steps, values, color=colour, linewidth=1.2, marker="o" if len(steps) <= 20 else "", markersize=3)
        label = f"{values[-1]:.3g} {name}".strip()
        look = {"textcoords": "offset points", "va": "center", "color": colour, "fontsize": MEDIUM}
        axes.annotate(label, (steps[-1], height), (6, 0), annotation_clip=False, **look)
    axes.set_xlim(0, None)
    axes.set_ylim(0, highest)
    tidy(axes, title, xlabel="step")
