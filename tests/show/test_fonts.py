"""Names in any script: written by a font that has their letters, or so that they can be read without one."""

import logging
import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, fontManager

from cuter.show import fonts, pictures
from cuter.show.fonts import families, font_files, use_fonts, writable
from tiny_font import tiny_font

OWN = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
Install = Callable[..., list[FontEntry]]


@pytest.fixture(autouse=True)
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Let nothing be installed but DejaVu Sans, and what a test adds: names of fonts with their letters."""
    own = FontEntry(fname=str(OWN), name="DejaVu Sans")
    monkeypatch.setattr(fontManager, "ttflist", [own])
    monkeypatch.setattr(fonts, "_said", set())

    def add(**letters: str) -> list[FontEntry]:
        names = {name: f"{name} of {tmp_path.name}" for name in letters}  # matplotlib remembers where a name is
        entries = [tiny_font(tmp_path / f"{name}.ttf", names[name], has) for name, has in letters.items()]
        monkeypatch.setattr(fontManager, "ttflist", [*entries, own])
        return entries

    return add


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("cat", "cat"),
        ("Käfer, кошка, γάτα", "Käfer, кошка, γάτα"),
        ("قطة", "قطة"),
        ("猫", "U+732B"),
        ("猫犬 and cat", "U+732B+72AC and cat"),
        ("black 猫", "black U+732B"),
        ("\U0001fae0", "U+1FAE0"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("猫\U000e0100犬", "U+732B+72AC"),
        ("", ""),
    ],
)
def test_what_no_font_has_is_written_by_its_number(name: str, written: str) -> None:
    assert writable(name) == written


def test_what_to_install_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "cuter"):
        for name in ("猫", "犬", "ネコ", "cat", "고양이"):
            writable(name)
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "fonts-noto-cjk" in caplog.text
        assert "U+732B" in caplog.text
        writable("\U0001fae0")
        writable("\u1d81")
    assert [("fonts-symbola" in text, "fonts-noto-core" in text) for text in caplog.messages[1:]] == [
        (True, False),
        (False, True),
    ]


def test_an_installed_font_writes_what_it_has(install: Install) -> None:
    second, first = install(Zen="猫犬", Abc="猫")
    assert writable("cat 猫犬") == "cat 猫犬"
    assert families("cat 猫犬") == ["DejaVu Sans", second.name, first.name], "by letter"
    assert list(font_files("cat 猫犬!")) == [
        ("cat ", str(OWN)),
        ("猫", first.fname),
        ("犬", second.fname),
        ("!", str(OWN)),
    ]


def test_the_order_of_the_list_decides_nothing(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = install(Zen="猫", Abc="猫")
    chosen = families("猫")
    assert chosen == ["DejaVu Sans", entries[1].name]
    monkeypatch.setattr(fontManager, "ttflist", fontManager.ttflist[::-1])
    assert families("猫") == chosen


def test_preferred_fonts_go_first(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    zen, _ = install(Zen="猫", Abc="猫")
    monkeypatch.setattr(fonts, "PREFERRED", (zen.name,))
    assert families("猫") == ["DejaVu Sans", zen.name]


def test_all_texts_of_a_figure_are_written(install: Install, tmp_path: Path) -> None:
    (font,) = install(Abc="猫")
    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1], label="猫")
    axes.set_xticks([0, 1], ["猫", "cat"])
    legend = axes.legend()
    use_fonts(figure)
    for text in (*axes.get_xticklabels(), *legend.get_texts()):
        assert text.get_family() == ["DejaVu Sans", font.name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of letters that are boxes
        figure.savefig(tmp_path / "x.png")


def test_pillow_writes_with_several_fonts_in_a_line(install: Install) -> None:
    own = np.asarray(pictures.text_line("ab"))
    install(Abc="猫")
    mixed = np.asarray(pictures.text_line("a猫b").convert("L"))
    assert mixed.shape[0] == own.shape[0], "the line is no higher"
    assert abs(mixed.shape[1] - own.shape[1] - pictures.TEXT) <= 1, "a letter of the other font is as wide as high"
    square = (mixed < 128).sum(axis=0) == round(0.7 * pictures.TEXT)
    assert square.sum() >= 0.7 * pictures.TEXT, "which is a square"


def test_pillow_writes_numbers_where_no_font_has_a_letter() -> None:
    assert np.array_equal(np.asarray(pictures.text_line("猫 1")), np.asarray(pictures.text_line("U+732B 1")))
