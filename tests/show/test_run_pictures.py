import itertools
import json
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.font_manager import FontEntry, fontManager
from PIL import Image

from cuter.errors import ConfigError, DataError
from cuter.runs.record import Line, RunRecord, read_metrics
from cuter.show import run_pictures
from cuter.show.run_pictures import draw_balance, draw_localisation, draw_run, draw_selection

NOTHING = {"kept": 0, "no region": 0, "another label": 0, "unsure": 0, "two labels": 0, "whole image": 0}


def step(number: int, task: int = 0, **selection: int) -> Line:
    line = {"step": number, "task": task, "loss": 0.5, "memory": number}
    return line | {"selection": NOTHING | {name.replace("_", " "): n for name, n in selection.items()}}


def after_task(classes: dict[str, int] | None = None, seen: Sequence[str] | None = None, **localisation: float) -> Line:
    test = {"task": 0, "name": "task", "classes": list(seen or classes or ()), "images": 9, "scores": {"map": 50.0}}
    line: Line = {"step": 1, "test": test}
    line |= {} if classes is None else {"classes": classes}
    return line | ({"localisation": localisation} if localisation else {})


def run_of(tasks: int, classes: int, steps: int = 7) -> list[Line]:
    """Make up a run with all there is to draw; every task brings so many new classes."""
    lines = []
    for task in range(tasks):
        numbers = range(task * steps + 1, (task + 1) * steps + 1)
        lines += [step(number, task, kept=3, unsure=number % 4, two_labels=1) for number in numbers]
        counts = {f"class {number}": 5 + 7 * number % 11 for number in range((task + 1) * classes)}
        lines.append(after_task(counts, fiedler=0.3 + task / 100, corloc=0.5 - task / 100, ap50=0.2))
    return lines


def write(folder: Path, lines: Sequence[Line], end: bytes = b"") -> Path:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_bytes(text.encode() + end)
    return folder


def draw_lines(draw: Callable[[RunRecord, Path], bool], lines: Sequence[Line], file: Path) -> bool:
    return draw(RunRecord(lines=lines), file)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All figures in the order they are drawn."""
    figures: list[Any] = []
    make = run_pictures.new_figure
    monkeypatch.setattr(run_pictures, "new_figure", lambda *size: figures.append(make(*size)) or figures[-1])
    return figures


def overlapping(texts: Sequence[Any]) -> list[tuple[str, str]]:
    places = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
    return [(one[0], other[0]) for one, other in itertools.combinations(places, 2) if one[1].overlaps(other[1])]


@pytest.mark.parametrize(("tasks", "classes"), [(1, 1), (1, 4), (5, 4), (40, 2)])
def test_all_pictures_of_a_run(tasks: int, classes: int, tmp_path: Path) -> None:
    files = draw_run(write(tmp_path, run_of(tasks, classes)))
    assert [file.name for file in files] == ["selection.png", "balance.png", "localisation.png"]
    for file in files:
        with Image.open(file) as picture:
            picture.load()
            assert picture.format == "PNG"
            assert 800 <= picture.width <= 2400
            assert 200 <= picture.height <= 3000
            assert len(np.unique(np.asarray(picture.convert("L")))) > 10  # something is on it


def test_what_is_not_known_is_not_drawn(tmp_path: Path) -> None:
    plain = [{"step": 1, "task": 0, "loss": 0.5, "memory": 4}, after_task()]
    assert draw_run(write(tmp_path, plain)) == []
    assert draw_run(write(tmp_path, [])) == []
    nothing = [step(1), after_task({"cat": 0, "dog": 0}, corloc=0, ap50=0, fiedler=0) | {"localisation": {}}]
    assert draw_run(write(tmp_path, nothing)) == []
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.jsonl"]
    assert draw_run(write(tmp_path, [*plain, after_task(fiedler=0.4)])) == [tmp_path / "localisation.png"]


@pytest.mark.parametrize(
    "end", [b'{"step": 3, "ta', '{"step": 3, "test": {"classes": ["Kä'.encode()[:-1], b"\0\0\0", b""]
)
def test_a_line_that_a_killed_run_left_unfinished(end: bytes, tmp_path: Path) -> None:
    lines = [step(1, kept=2), after_task({"Käfer": 3})]
    assert read_metrics(write(tmp_path, lines, end) / "metrics.jsonl") == lines


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no metrics\.jsonl"):
        draw_run(tmp_path)
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"st\n{"step": 3}\n')
    with pytest.raises(DataError, match=r"metrics\.jsonl is damaged in line 2"):
        draw_run(tmp_path)


def layers(axes: Any) -> dict[str, np.ndarray]:
    """Return the shares of each layer in percent, by label."""
    patches = {patch.get_label(): patch.get_data() for patch in axes.patches if patch.get_fill()}
    return {label: data.values - data.baseline for label, data in patches.items()}


def test_shares_of_the_selection(drawn: list[Any], tmp_path: Path) -> None:
    lines = [step(1, kept=3, unsure=1), step(2, kept=1, unsure=1), step(3, task=1), step(4, task=1, whole_image=5)]
    assert draw_lines(draw_selection, [*lines[:2], after_task(), *lines[2:]], tmp_path / "x.png")
    (axes,) = drawn[0].axes
    found = layers(axes)
    assert list(found) == ["kept: 4 (67 %)", "unsure: 2 (33 %)"], "a whole image is no cut-out"
    np.testing.assert_allclose(found["kept: 4 (67 %)"], [75, 50, math.nan, math.nan])
    np.testing.assert_allclose(found["unsure: 2 (33 %)"], [25, 50, math.nan, math.nan])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(found)[::-1]
    assert [text.get_text() for text in axes.texts] == ["task", "1", "2"]
    assert axes.get_xlim() == (0, 4)


def test_no_bin_lies_in_two_tasks(drawn: list[Any], tmp_path: Path) -> None:
    lengths = (1000, 37, 1, 612)
    tasks = [task for task, length in enumerate(lengths) for _ in range(length)]
    lines = [step(number, task, **{"kept" if task % 2 else "unsure": 1}) for number, task in enumerate(tasks, start=1)]
    draw_lines(draw_selection, lines, tmp_path / "x.png")
    (axes,) = drawn[0].axes
    kept = layers(axes)["kept: 649 (39 %)"]
    assert set(kept.tolist()) <= {0, 100}
    edges = axes.patches[0].get_data().edges
    assert {0, 1000, 1037, 1038, 1650} <= set(edges.tolist())
    assert 50 < len(edges) < 75
    widths = np.diff(edges)
    assert all(20 < width < 40 for width in widths if width > 1)


def test_reasons_that_a_new_keeper_may_give(drawn: list[Any], tmp_path: Path) -> None:
    line = step(1, kept=1) | {"selection": {"too dark": 2, "kept": 1, "too small": 1}}
    draw_lines(draw_selection, [line], tmp_path / "x.png")
    patches = [patch for patch in drawn[0].axes[0].patches if patch.get_fill()]
    assert [patch.get_label() for patch in patches] == ["kept: 1 (25 %)", "too dark: 2 (50 %)", "too small: 1 (25 %)"]
    assert len({patch.get_facecolor() for patch in patches}) == 3


@pytest.mark.parametrize("tasks", [1, 7, 40, 80])
def test_numbers_of_tasks_do_not_overlap(tasks: int, drawn: list[Any], tmp_path: Path) -> None:
    lengths = [3 + 5 * task % 17 for task in range(tasks)]
    places = [task for task, length in enumerate(lengths) for _ in range(length)]
    draw_lines(
        draw_selection, [step(number, task, kept=1) for number, task in enumerate(places, start=1)], tmp_path / "x.png"
    )
    texts = drawn[0].axes[0].texts
    assert len(texts) - 1 >= min(tasks, 20)
    assert overlapping([*texts, drawn[0].axes[0]._left_title]) == []


def test_balance_tells_counts_and_their_ratio(drawn: list[Any], tmp_path: Path) -> None:
    lines = [
        after_task({"dog": 8, "ant": 2}),
        after_task({"dog": 6, "ant": 3, "bee": 0}),
        after_task(
            {"dog": 6, "bee": 5}, seen=["dog", "ant", "bee", "cow"]
        ),  # what memory lost, or never had, counts as 0
    ]
    assert draw_lines(draw_balance, lines, tmp_path / "x.png")
    over_time, at_last = drawn[0].axes
    assert drawn[0].get_suptitle() == "Classes in memory, most to least frequent 6 : 0"
    assert [label.get_text() for label in over_time.get_yticklabels()] == ["dog", "ant", "bee", "cow"]
    cells = {(round(x), round(y)): text.get_text() for text in over_time.texts for x, y in [text.get_position()]}
    assert cells == {
        (0, 0): "8", (0, 1): "2",
        (1, 0): "6", (1, 1): "3", (1, 2): "0",
        (2, 0): "6", (2, 1): "0", (2, 2): "5", (2, 3): "0",
    }  # fmt: skip
    (mesh,) = over_time.collections
    doublings = mesh.get_array().filled(math.nan)
    np.testing.assert_allclose(doublings[:, 0], [math.log2(8 / 5), math.log2(2 / 5), math.nan, math.nan])
    np.testing.assert_allclose(doublings[:, 1], [1, 0, -2, math.nan])
    assert [bar.get_width() for bar in at_last.patches] == [6, 0, 5, 0]
    assert [text.get_text() for text in at_last.texts] == ["6", "0", "5", "0"]

    assert draw_lines(draw_balance, lines[:1], tmp_path / "x.png")
    (axes,) = drawn[1].axes
    assert drawn[1].get_suptitle() == "Classes in memory, most to least frequent 8 : 2 = 4.0"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["dog", "ant"]


def test_memory_that_was_empty_for_a_while(drawn: list[Any], tmp_path: Path) -> None:
    assert draw_lines(draw_balance, [after_task({"dog": 0}), after_task({"dog": 4})], tmp_path / "x.png")
    doublings = drawn[0].axes[0].collections[0].get_array().filled(math.nan)
    np.testing.assert_allclose(doublings, [[math.nan, 0]])


@pytest.mark.parametrize(("tasks", "classes"), [(1, 20), (5, 4), (20, 1), (25, 1), (8, 10)])
def test_names_and_numbers_of_classes_do_not_overlap(
    tasks: int, classes: int, drawn: list[Any], tmp_path: Path
) -> None:
    lines = [line for line in run_of(tasks, classes) if "test" in line]
    lines[-1]["classes"] |= {"a most unusual animal that nobody has ever seen before": 12345}
    draw_lines(draw_balance, lines, tmp_path / "x.png")
    axes = drawn[0].axes
    names = axes[0].get_yticklabels()
    assert len(names) == tasks * classes + 1
    assert names[-1].get_text() == "a most unusual ani…en before"
    assert overlapping(names) == []
    assert overlapping(axes[-1].texts) == []
    if tasks > 1:
        assert overlapping([*axes[0].texts, *axes[0].get_xticklabels()]) == []
    page = drawn[0].bbox
    for text in (*names, *axes[-1].texts, axes[-1].xaxis.label, drawn[0]._suptitle):
        place = text.get_window_extent()
        assert page.x0 <= place.x0 < place.x1 <= page.x1


def test_names_are_written_as_they_are(drawn: list[Any], tmp_path: Path) -> None:
    names = ["$100 and $200 bills", "$\\frac{", "_hidden", "Käfer", "кошка", "γάτα"]
    assert draw_lines(draw_balance, [after_task(dict.fromkeys(names, 3))], tmp_path / "x.png")
    assert [label.get_text() for label in drawn[0].axes[0].get_yticklabels()] == names
    assert drawn[0].axes[0].get_yticklabels()[0].get_family() == ["DejaVu Sans"]


@pytest.mark.parametrize("backwards", [False, True])
def test_another_font_helps_out_where_one_is_installed(
    backwards: bool,
    drawn: list[Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recwarn: pytest.WarningsRecorder,
) -> None:
    """Whatever is installed here: exactly these fonts are, all of which come with matplotlib, and one broken file."""
    (tmp_path / "broken.ttf").write_bytes(b"?")
    come_with = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    entries = [
        FontEntry(fname=str(tmp_path / "broken.ttf"), name="A broken one"),
        FontEntry(fname=str(come_with / "cmr10.ttf"), name="One without that letter"),
        FontEntry(fname=str(come_with / "STIXGeneralItalic.ttf"), name="One with that letter", style="italic"),
        FontEntry(fname=str(come_with / "STIXGeneral.ttf"), name="One with that letter"),
        FontEntry(fname=str(come_with / "STIXGeneral.ttf"), name="One with that letter too"),
        FontEntry(fname=str(come_with / "LastResortHE-Regular.ttf"), name="Last Resort High-Efficiency"),
        FontEntry(fname=str(come_with / "DejaVuSans.ttf"), name="DejaVu Sans"),
    ]
    monkeypatch.setattr(fontManager, "ttflist", entries[::-1] if backwards else entries)
    letter = "\u1d81"  # d with a palatal hook, which DejaVu Sans lacks
    assert draw_lines(draw_balance, [after_task({f"cat {letter}": 3, "\U0010fffd": 1})], tmp_path / "x.png")
    families = drawn[0].axes[0].get_yticklabels()[0].get_family()
    assert families == ["DejaVu Sans", "One with that letter"]
    assert not [warning for warning in recwarn if str(ord(letter)) in str(warning.message)]


def test_names_that_no_font_has_are_written_by_their_numbers(
    drawn: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = FontEntry(
        fname=str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), name="DejaVu Sans"
    )
    monkeypatch.setattr(fontManager, "ttflist", [own])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw_lines(draw_balance, [after_task({"猫": 3, "black 猫": 1, "テレビモニター": 2})], tmp_path / "x.png")
    told = [label.get_text() for label in drawn[0].axes[0].get_yticklabels()]
    assert told == ["U+732B", "black U+732B", "U+30C6+30EC+30D3+3…30BF+30FC"]


def test_localisation_with_and_without_boxes(drawn: list[Any], tmp_path: Path) -> None:
    lines = [
        after_task(fiedler=0.3, corloc=0.5, ap50=0.25),
        after_task(),
        after_task(fiedler=0.4, corloc=0.4, ap50=0.125),
    ]
    assert draw_lines(draw_localisation, lines, tmp_path / "x.png")
    fiedler, found = drawn[0].axes
    assert [line.get_xydata().tolist() for line in fiedler.lines] == [[[1, 0.3], [3, 0.4]]]
    assert [line.get_xydata().tolist() for line in found.lines] == [[[1, 50], [3, 40]], [[1, 25], [3, 12.5]]]
    assert {text.get_text().strip() for text in fiedler.texts} == {"0.300", "0.400"}
    assert {text.get_text() for text in found.texts} == {"50.0", "40.0 CorLoc", "25.0", "12.5 AP50"}
    assert draw_lines(draw_localisation, [after_task(fiedler=0.3)], tmp_path / "x.png")
    assert len(drawn[1].axes) == 1


@pytest.mark.parametrize(
    ("corloc", "ap50"), [([0.5, 0.2], [0.2, 0.2]), ([0.1, 0.0], [0.2, 0.0]), ([0.3] * 9, [0.3] * 9), ([0.0], [0.0])]
)
def test_labels_of_curves_that_end_together(
    corloc: Sequence[float], ap50: Sequence[float], drawn: list[Any], tmp_path: Path
) -> None:
    lines = [after_task(fiedler=0.3, corloc=one, ap50=other) for one, other in zip(corloc, ap50, strict=True)]
    draw_lines(draw_localisation, lines, tmp_path / "x.png")
    ends = [text for text in drawn[0].axes[1].texts if text.get_text()[-1].isalnum() and " " in text.get_text()]
    assert len(ends) == 2
    assert overlapping(ends) == []
