"""What a person sees of pre-training: loss, images/s, time left, and a table of the scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta

from cuter.measure.throughput import Meter
from cuter.show.narrow import FoldedTable
from cuter.show.progress_line import ProgressLine
from cuter.show.table import plain_table, terminal

# Short for a heading, and how to show a value.
FIGURES = {
    "fiedler": ("Fiedler value ↓", "{:.4f}"),
    "corloc": ("CorLoc", "{:.1%}"),
    "ap50": ("AP50", "{:.1%}"),
    "knn_map": ("k-NN mAP", "{:.1f}"),
    "loss": ("loss", "{:.3f}"),
    "matched": ("matched", "{:.0%}"),
    "entropy": ("entropy", "{:.2f}"),
    "diversity": ("diversity", "{:.2f}"),
    "spread": ("spread", "{:.2f}"),
}


class PretrainDisplay(ProgressLine):
    """Shows the progress of pre-training on a console."""

    def begin(self, images_left: int, images_total: int) -> None:
        """Set how many images there are to learn from."""
        self.left = images_left
        self.meter = Meter()
        self.set_total(images_total, done=images_total - images_left)

    def learned(self, images: int, step: int, of: int, loss: float) -> None:
        """Note a step."""
        self.meter.add(images)
        self.left -= images
        rate = self.meter.recent or math.inf
        left = timedelta(seconds=round(max(self.left, 0) / rate))
        self.advance(images, f"step {step}/{of}", f"{rate:.1f} images/s  loss {loss:.3f}  {left} left")

    def scored(self, scores: Sequence[Mapping[str, float]], total: int) -> None:
        """Print the newest score as a line, and in the end the table of all of them."""
        latest = scores[-1]
        if latest["step"] == total:
            self.console.print(score_table(scores))
            return
        facts = [f"{name} {form.format(latest[key])}" for key, (name, form) in FIGURES.items() if key in latest]
        self.say(f"step {latest['step']}: " + "  ".join(facts))


def score_table(scores: Sequence[Mapping[str, float]]) -> FoldedTable:
    """Return a row for each score."""
    figures = [key for key in FIGURES if any(key in score for score in scores)]
    rows = [
        [str(score["step"]), *(FIGURES[key][1].format(score[key]) if key in score else "" for key in figures)]
        for score in scores
    ]
    return terminal(plain_table(["step", *(FIGURES[key][0] for key in figures)], rows, text_columns=0), boxed=True)
