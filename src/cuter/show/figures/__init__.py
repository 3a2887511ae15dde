"""Figures of a table, drawn from what its runs noted."""

from cuter.show.figures.draw import FIGURES, draw_figures

__all__ = ["FIGURES", "draw_figures"]
