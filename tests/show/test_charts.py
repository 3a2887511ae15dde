import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuter.runs.record import RunRecord
from cuter.show.charts import (
    LINE,
    NARROW,
    OUTCOMES,
    WIDE,
    XLINK,
    Curve,
    draw_shares,
    fitted,
    line_chart,
    nice_ticks,
    share_chart,
    text_width,
)
from cuter.show.run_labels import NamedRun
from cuter.show.style import new_figure, spread_labels

SVG = "{http://www.w3.org/2000/svg}"


def run_called(label: str, number: int = 0) -> NamedRun:
    return NamedRun(None, label, label, 0, colour=number % 7, shape=number, dash=number // 7)  # type: ignore[arg-type]


def parsed(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def found(root: ElementTree.Element, name: str, kind: str) -> list[ElementTree.Element]:
    return [one for one in root.iter(SVG + name) if kind in one.get("class", "").split()]


def ticks_of(root: ElementTree.Element) -> dict[float, float]:
    """The height of each tick, by its value."""
    texts = [one for one in root.iter(SVG + "text") if "text-anchor: end" in one.get("style", "")]
    lines = [one for one in root.iter(SVG + "path") if "var(--rule)" in one.get("style", "")]
    heights = [numbers(one.get("d", ""))[1] for one in lines]
    return {float(one.text or ""): height for one, height in zip(texts, heights, strict=True)}


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", text)]


@given(st.floats(-1e4, 1e4), st.just(0.0) | st.floats(0.01, 1e4))
def test_ticks_are_round_even_and_enclose(low: float, span: float) -> None:
    high = low + span
    ticks = nice_ticks(low, high)
    steps = np.diff(ticks)
    assert 2 <= len(ticks) <= 7
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    slack = 1e-6 * steps[0]
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack


@given(st.floats(-1e4, 1e4), st.floats(0, 1e-5))
def test_round_off_is_no_difference(low: float, span: float) -> None:
    assert 2 <= len(nice_ticks(low, low + span)) <= 7


def test_a_perfect_score_is_not_followed_by_more() -> None:
    assert nice_ticks(100, 100)[-1] == 100
    assert nice_ticks(0, 0)[0] == 0


@pytest.mark.parametrize(("low", "high"), [(20.0, 99.0), (97.1, 97.3), (0.301, 0.332), (0.0, 100.0), (50.0, 50.0)])
def test_every_tick_has_a_text_of_its_own(low: float, high: float) -> None:
    root = parsed(line_chart([Curve(run_called("a"), {1: low, 2: high})], WIDE, 300, "mAP"))
    texts = list(ticks_of(root))
    assert texts == pytest.approx(nice_ticks(low, high))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_labels_keep_their_order_and_distance(heights: list[float]) -> None:
    placed = spread_labels(heights, 10, 0, 100)
    order = np.argsort(heights, kind="stable")
    gaps = np.diff(np.array(placed)[order])
    assert (gaps >= 10 - 1e-9).all()
    if 10 * (len(heights) - 1) <= 100:
        assert min(placed) >= -1e-9
        assert max(placed) <= 100 + 1e-9
    if len(heights) == 1 or np.diff(np.sort(heights)).min() >= 10:
        assert placed == heights, "nothing moves without need"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_lines_go_through_their_values(width: float) -> None:
    curves = [
        Curve(run_called("first"), {1: 90.0, 2: 70.0, 3: 80.0}),
        Curve(run_called("second", 1), {1: 85.0, 2: 75.0}),
    ]
    root = parsed(line_chart(curves, width, 300, "mAP"))
    assert root.get("aria-label") == "mAP"
    ticks = ticks_of(root)
    low, high = min(ticks), max(ticks)
    drawn = [one for one in root.iter(SVG + "path") if re.search(r"stroke: var\(--c\d\)", one.get("style", ""))]
    for curve, path in zip(curves, drawn, strict=False):
        points = np.array(numbers(path.get("d", ""))).reshape(-1, 2)
        values = low + (ticks[low] - points[:, 1]) / (ticks[low] - ticks[high]) * (high - low)
        np.testing.assert_allclose(values, list(curve.points.values()), atol=0.1)
        np.testing.assert_allclose(np.diff(points[:, 0], 2), 0, atol=0.2)
    texts = ["".join(one.itertext()) for one in root.iter(SVG + "text")]
    assert "80.0 first" in texts
    assert "75.0 second" in texts
    uses = {use.findtext(SVG + "title"): use for use in root.iter(SVG + "use")}
    assert set(uses) >= {"first, after task 2: 70.0", "second, after task 1: 85.0"}
    assert len(uses) == 5, "every marker has a title"
    defined = {one.get("id") for one in root.iter() if one.get("id")}
    assert {use.get(f"{XLINK}href", "")[1:] for use in uses.values()} == defined
    assert "#0a" not in line_chart(curves, width, 300, "mAP"), "all colours are those of the style sheet"


@pytest.mark.parametrize("count", [1, 9, 40])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_names_at_the_ends_do_not_meet_and_stay_inside(count: int, width: float) -> None:
    curves = [
        Curve(run_called(f"run {number} 猫" * 3, number), {1: 50.0, 2: 50 + number / 100}) for number in range(count)
    ]
    root = parsed(line_chart(curves, width, 300, "mAP"))
    names = [one for one in root.iter(SVG + "text") if one.find(SVG + "tspan") is not None]
    assert len(names) == count
    heights = sorted(float(one.get("y", "")) for one in names)
    assert (np.diff(heights) >= LINE - 0.02).all()
    assert heights[-1] < float(root.get("height", ""))
    for one in names:
        assert float(one.get("x", "")) + text_width("".join(one.itertext())) <= width


def test_text_is_escaped() -> None:
    name = '</text><script>"&'
    root = parsed(line_chart([Curve(run_called(name), {1: 1.0})], WIDE, 200, name))
    assert root.get("aria-label") == name
    assert any(name in "".join(one.itertext()) for one in root.iter(SVG + "text"))


@given(st.text(max_size=40), st.floats(20, 300))
def test_a_name_is_cut_only_where_there_is_no_room(text: str, room: float) -> None:
    short = fitted(text, room)
    assert text_width(short) <= room
    assert (short == text) == (text_width(text) <= room) or short.endswith("…")


def test_layers_are_as_thick_as_their_shares() -> None:
    lines = []
    for number in range(1, 9):
        counts = {"kept": number, "unsure": 8 - number, "too <dark>": 2, "whole image": 5}
        lines.append({"step": number, "task": number // 5, "loss": 0.1, "memory": 3, "selection": counts})
    selection = RunRecord(lines=lines).selection
    assert selection is not None
    outcomes = [*selection.totals, "of another run"]
    root = parsed(share_chart(selection, outcomes, WIDE, "what became"))
    layers = found(root, "g", "layer")
    assert [layer.findtext(f".//{SVG}title") for layer in layers] == ["kept", "unsure", "too <dark>"]
    for layer in layers:
        number = outcomes.index(layer.findtext(f".//{SVG}title") or "")
        assert f"var(--o{number})" in (layer[0].get("style") or "")
    axes = new_figure(4, 3).subplots()
    draw_shares(axes, selection, lambda name: {"label": name})
    shares = {patch.get_label(): patch.get_data().values - patch.get_data().baseline for patch in axes.patches}
    np.testing.assert_allclose(shares["kept"], [10 * n for n in range(1, 9)])
    np.testing.assert_allclose(shares["unsure"], [10 * (8 - n) for n in range(1, 9)], atol=1e-9)
    np.testing.assert_allclose(shares["too <dark>"], [20] * 8)
    full = numbers(layers[0][0].get("d", ""))[1::2]
    assert max(full) - min(full) == pytest.approx(0.8 * 200, abs=0.2), "a layer of 80 percent at the end"
    labels = [one.text for one in root.iter(SVG + "text")]
    assert {"task 1", "task 2", "step 1", "step 8", "too <dark>"} <= set(labels)


def test_the_style_sheet_has_all_colours() -> None:
    from cuter.show import run_labels as names

    style = (Path(names.__file__).parent / "templates" / "style.css").read_text()
    colours = (Path(names.__file__).parent / "templates" / "colours.css").read_text()
    assert f"range({names.COLOURS})" in style
    assert f"range({OUTCOMES})" in style
    for prefix, count in (("c", names.COLOURS), ("o", OUTCOMES), ("l", 5)):
        assert all(colours.count(f"--{prefix}{number}:") == 2 for number in range(count)), "in light and in dark"


def contrast(one: str, other: str) -> float:
    """Contrast as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        shares = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
        straight = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        return float(straight @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_told_from_their_ground(scheme: str) -> None:
    from cuter.show import run_labels as names

    text = (Path(names.__file__).parent / "templates" / "colours.css").read_text()
    block = re.search(rf"macro {scheme}\(\) %}}(.*?){{% endmacro", text, re.DOTALL)
    assert block is not None
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", block[1]))
    texts = [(ink, ground) for ink in ("ink", "muted", "link") for ground in ("paper", "tint")]
    texts += [("good", "paper"), ("bad", "paper"), ("paper", "ink"), ("l0-ink", "l0"), ("l4-ink", "l4")]
    texts += [("l-ink", ground) for ground in ("l1", "l2", "l3")]
    for ink, ground in texts:
        assert contrast(colours[ink], colours[ground]) >= 4.5, f"{ink} on {ground}"
    for line in (*(f"c{number}" for number in range(names.COLOURS)), "focus"):
        assert contrast(colours[line], colours["paper"]) >= 3, line
