"""Figures of made-up runs: what is in them, and that nothing covers anything else."""

import itertools
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from cuter.runs.config import RunConfig
from cuter.settings import validated
from cuter.show.figures import FIGURES, draw_figures
from cuter.show.figures.curves import map_after_tasks
from cuter.show.figures.dependence import dependences
from cuter.show.figures.source import finished_rows
from cuter.show.style import row_styles, spread_labels
from cuter.tables.jobs import Job
from cuter.tables.suite import Row, Suite
from made_up_runs import write_run

NUMBERS = iter(range(10_000))


def job(folder: Path, name: str, seed: int = 0, *, kind: str = "baseline", classes: int = 2, **options: Any) -> Job:
    """A finished run with figures of its own."""
    row = Row(name=name, method=options.pop("method", "rs"), kind=kind, options=options)
    place = folder / "runs" / f"{name}-{seed}"
    write_run(place, tasks=4, new_classes=classes, numbers=next(NUMBERS), seed=seed)
    fields = {"dataset": "toybox", "backbone": "toybox", "tasks": "5x5", "method": row.method, "seed": seed}
    return Job(row, seed, validated(RunConfig, fields | options), place)


def texts(figure: Any) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_suite_names_just_the_figures_that_there_are() -> None:
    (named,) = (argument for argument in get_args(Suite.model_fields["figures"].annotation) if argument is not ...)
    assert set(get_args(named)) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_written_twice_and_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    jobs = [job(tmp_path, f"memory {size}", seed, memory={"images": size}) for size in (10, 30, 100) for seed in (0, 1)]
    files = draw_figures([name], jobs, tmp_path)
    assert [file.name for file in files] == [f"{name}.svg", f"{name}.png"]
    with Image.open(files[1]) as picture:
        assert np.asarray(picture.convert("L")).std() > 5, "there is something to see"
    before = files[0].read_bytes()
    draw_figures([name], jobs, tmp_path)
    assert files[0].read_bytes() == before


@pytest.mark.parametrize("name", FIGURES)
def test_a_table_without_a_finished_run_has_no_figure(name: str, tmp_path: Path) -> None:
    unfinished = job(tmp_path, "RS")
    (unfinished.folder / "summary.json").unlink()
    assert draw_figures([name], [unfinished], tmp_path) == []
    assert draw_figures([name], [], tmp_path) == []


def test_curves_are_means_over_seeds_with_all_that_seeds_cover(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "RS", seed) for seed in range(3)]
    figure = FIGURES["curves"](finished_rows(jobs))
    (line,) = figure.axes[0].lines
    by_seed = np.array([list(map_after_tasks(record).values()) for record in finished_rows(jobs)[0].records])
    np.testing.assert_allclose(line.get_ydata(), by_seed.mean(axis=0))
    (band,) = figure.axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (by_seed.min(), by_seed.max())


def test_balance_has_the_classes_of_the_first_row_in_every_panel(tmp_path: Path) -> None:
    figure = FIGURES["balance"](finished_rows([job(tmp_path, name) for name in ("RS", "PRS", "OCDM", "CUTER")]))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == ["RS", "PRS", "OCDM", "CUTER"]
    heights = [[bar.get_height() for bar in axes.patches] for axes in shown]
    assert heights[0] == sorted(heights[0], reverse=True)
    assert (
        texts(figure)[0]
        == f"most : least {heights[0][0]:.0f} : {heights[0][-1]:.0f} = {heights[0][0] / heights[0][-1]:.1f}"
    )


def test_names_of_classes_leave_room_for_the_bars(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "RS")]
    metrics = jobs[0].folder / "metrics.jsonl"
    name = "a most unusual animal that costs $1 or $2"
    metrics.write_text(metrics.read_text().replace('"class 0": ', f'"{name}": '))
    figure = FIGURES["balance"](finished_rows(jobs))
    figure.draw_without_rendering()
    assert "a most unusual ani… $1 or $2" in [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert figure.axes[0].get_window_extent().height > figure.dpi


def test_ten_thousand_classes_in_memory_can_be_drawn(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "RS", classes=2_500)]
    assert len(draw_figures(["balance"], jobs, tmp_path)) == 2


def test_localisation_without_boxes_is_the_fiedler_value_alone(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "RS")]
    metrics = jobs[0].folder / "metrics.jsonl"
    assert len(FIGURES["localisation"](finished_rows(jobs)).axes) == 2
    metrics.write_text(metrics.read_text().replace('"ap50"', '"nothing"'))
    assert len(FIGURES["localisation"](finished_rows(jobs)).axes) == 1


def test_throughput_is_told_beside_the_fastest(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "RS"), job(tmp_path, "CUTER", kind="ours")]
    summary = jobs[1].folder / "summary.json"
    summary.write_text(summary.read_text().replace('"train_images_per_second": 7.5', '"train_images_per_second": 3.0'))
    assert texts(FIGURES["throughput"](finished_rows(jobs))) == ["3.0   40 %", "7.5   100 %"]


def test_rows_that_differ_in_one_setting_show_how_it_acts(tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, "weight 2", method="cuter+fiedler", regulariser={"weight": 2.0}),
        job(tmp_path, "weight 0.2", method="cuter+fiedler"),  # the default of the method
        job(tmp_path, "tau1 0.4", method="cuter-paper", keeper={"selection": {"tau1": 0.4}}),
        job(tmp_path, "both", method="cuter-paper"),
        job(tmp_path, "tau2 0.9", method="cuter-paper", keeper={"selection": {"tau2": 0.9}}),
        job(tmp_path, "RS"),
    ]
    found = dependences(finished_rows(jobs))
    assert {field: [sorted(points["last"]) for points in series.values()] for field, series in found.items()} == {
        "regulariser.weight": [[0.2, 2.0]],
        "keeper.selection.tau1": [[0.4, 0.55]],
        "keeper.selection.tau2": [[0.8, 0.9]],
    }


def test_a_grid_of_two_settings_has_a_curve_for_each_value_of_the_other(tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, f"{size} {memory}", memory={"kind": memory, "images": size})
        for size in (10, 300)
        for memory in ("reservoir", "prs")
    ]
    found = dependences(finished_rows(jobs))
    assert list(found) == ["memory.images"], "names have no place on an axis"
    assert list(found["memory.images"]) == ["memory reservoir", "memory prs"]
    figure = FIGURES["dependence"](finished_rows(jobs))
    assert figure.axes[0].get_xscale() == "log"


def test_rows_are_told_apart_by_colour_or_mark() -> None:
    kinds: Sequence[Any] = ["baseline"] * 11 + ["ours"] * 2 + ["bound"] * 2
    rows = [Row(name=f"row {number}", method="rs", kind=kind) for number, kind in enumerate(kinds)]
    found = row_styles(rows)
    assert len({(look.colour, look.marker) for look in found.values()}) == len(rows)


def test_names_stay_below_the_title() -> None:
    assert spread_labels([0.2, 0.95, 1.1, 1.0], 0.1, high=1.0) == pytest.approx([0.2, 0.8, 1.0, 0.9])
    assert spread_labels([0.2, 0.5], 0.1, high=1.0) == [0.2, 0.5]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.floats(0.1, 10))
def test_names_are_moved_apart_and_keep_their_order(heights: list[float], gap: float) -> None:
    places = spread_labels(heights, gap)
    order = np.argsort(heights, kind="stable")
    assert (np.diff(np.array(places)[order]) >= gap * (1 - 1e-6)).all()
    assert np.isclose(np.mean(places), np.mean(heights)), "and are on the whole where they belong"
    if all(abs(one - other) >= gap for place, one in enumerate(heights) for other in heights[:place]):
        np.testing.assert_allclose(places, heights)


LR = (1e-5, 1e-4, 1e-3)


def sweep_of(folder: Path, seeds: int = 1, **grid: Sequence[Any]) -> list[Job]:
    """Finished runs of all combinations."""
    cells = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return [
        job(folder, ", ".join(f"{field} {value}" for field, value in cell.items()), seed, **cell)
        for cell in cells
        for seed in range(seeds)
    ]


@pytest.mark.parametrize(
    "grid",
    [
        {"lr": LR},
        {"lr": LR, "memory.images": (100, 300, 1000)},
        {"method": ("rs", "cuter", "cuter-paper"), "lr": LR},
        {"lr": LR[:2], "memory.images": (100, 1000), "replay.size": (4, 8), "memory": ("reservoir", "prs")},
    ],
    ids=["one", "two", "with names", "four"],
)
def test_the_legend_of_a_sweep_covers_no_curve(grid: dict[str, Any], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # they would be on the user's terminal
        figure = FIGURES["dependence"](finished_rows(sweep_of(tmp_path, seeds=2, **grid)))
        figure.savefig(tmp_path / "x.png")
    shown = [axes for axes in figure.axes if axes.get_visible()]
    for axes in shown:
        legend = axes.get_legend().get_window_extent()
        assert not any(legend.overlaps(other.get_window_extent()) for other in shown)
        assert not any(legend.overlaps(label.get_window_extent()) for label in axes.get_xticklabels())
        assert legend.y0 >= 0
        assert 0 <= legend.x0 < legend.x1 <= figure.bbox.x1, "it is on the page as a whole"
        assert axes.get_window_extent().height > figure.dpi, "what is left for the curves"


def test_the_legend_names_each_group_once_by_what_was_chosen(tmp_path: Path) -> None:
    """A method brings many settings along; its name says it all."""
    figure = FIGURES["dependence"](finished_rows(sweep_of(tmp_path, method=("rs", "cuter"), lr=LR)))
    told = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert told == ["average mAP", "last mAP", "method rs", "method cuter"]


@pytest.mark.parametrize(
    ("values", "scale", "numbers"),
    [
        (LR, "log", ["1e-05", "0.0001", "0.001"]),
        ((1e-4, 1e-3), "log", ["0.0001", "0.001"]),
        ((1e-4, 2e-4, 9e-4), "linear", ["0.0001", "0.0009"]),
        ((0.0, 1e-5, 1e-3), "linear", ["0", "0.001"]),
        ((1e-5, 1.1e-5, 1e-3), "log", ["1e-05", "0.001"]),
    ],
)
def test_values_of_a_decade_or_more_are_on_a_logarithmic_axis(
    values: Sequence[float], scale: str, numbers: list[str], tmp_path: Path
) -> None:
    figure = FIGURES["dependence"](finished_rows(sweep_of(tmp_path, weight_decay=values)))
    assert figure.axes[0].get_xscale() == scale
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == numbers, "those that have room"


def test_a_figure_that_no_run_has_leaves_an_empty_panel(tmp_path: Path) -> None:
    jobs = sweep_of(tmp_path, lr=LR)
    for one in jobs:
        file = one.folder / "summary.json"
        summary = json.loads(file.read_text())
        for result in summary["tasks"]:
            result["scores"]["map"] = None
        file.write_text(json.dumps(summary))
    assert len(draw_figures(["dependence"], jobs, tmp_path)) == 2
