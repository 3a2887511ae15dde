import io
import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from rich.console import Console

from cuter.backbone import Backbone, Features
from cuter.cut import CutSettings, Localiser
from cuter.errors import ConfigError, CuterError, DataError
from cuter.show.assess import assess, draw
from cuter.show.assess_report import assessment_table, plot
from cuter.show.pictures import COLOURS
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_squashed
from cuter.stream.samples import Box, Dataset, Sample

OBJECT = (
    "<object><name>dog</name><difficult>{difficult}</difficult>"
    "<bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object>"
)
IMAGES = 6


class RedOrNot(torch.nn.Module):
    """Stands in for a backbone: all red patches are alike, and so are all others; `angle` says how unlike the two are.

    With `mirrored` it sees every image the wrong way round.
    """

    image_size, patch_size = 32, 8

    def __init__(self, name: str, angle: float = math.pi / 2, mirrored: bool = False):
        super().__init__()
        self.name, self.angle, self.mirrored = name, angle, mirrored

    def set_features(self, features: str) -> None:
        pass

    def forward(self, images: torch.Tensor) -> Features:
        red = (images[:, 0] > 100).unfold(1, 8, 8).unfold(2, 8, 8).float().mean(dim=(3, 4)) > 0.5
        turned = (red.flip(2) if self.mirrored else red).flatten(1) * self.angle
        patches = 7 * torch.stack([turned.cos(), turned.sin()], dim=-1)  # the length must not matter
        return Features(patches.mean(dim=1), patches, (4, 4), patches)


BACKBONES = {
    "good": RedOrNot("good"),
    "weak": RedOrNot("weak", angle=math.pi / 3, mirrored=True),
    "weaker": RedOrNot("weaker", angle=math.pi / 4, mirrored=True),
}


@pytest.fixture(autouse=True)
def loads(monkeypatch: pytest.MonkeyPatch, tiny: Backbone) -> None:
    """Give the stand-ins and the tiny transformer under their names."""

    def load(name: str, features: str | None = None) -> Localiser:
        if name == "tiny":
            return Localiser(tiny)
        if name not in BACKBONES:
            raise CuterError(f"no backbone {name}")
        return Localiser(BACKBONES[name], CutSettings(features or "keys", tau=0.9))  # type: ignore[arg-type]

    monkeypatch.setattr(Localiser, "load", load)


@pytest.fixture
def voc(tmp_path: Path) -> Path:
    """Images of several sizes, none of them square, with a red dog in the third column and the upper two rows of four.

    The dog of the last image is difficult, so that nothing is left to be found.
    """
    root = tmp_path / "VOC2007"
    for part in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / part).mkdir(parents=True)
    for number in range(IMAGES):
        width, height = 240 + 40 * number, 120
        image = Image.new("RGB", (width, height), (0, 0, 200))
        box = (width // 2, 0, width * 3 // 4, height // 2)
        image.paste((200, 0, 0), box)
        image.save(root / "JPEGImages" / f"{number}.jpg", quality=95)
        last = OBJECT.format(box[0] + 1, box[1] + 1, box[2], box[3], difficult=int(number == IMAGES - 1))
        (root / "Annotations" / f"{number}.xml").write_text(f"<annotation>{last}</annotation>")
    (root / "Annotations" / "test.xml").write_text("<annotation/>")
    Image.new("RGB", (8, 8)).save(root / "JPEGImages" / "test.jpg")
    (root / "ImageSets" / "Main" / "trainval.txt").write_text("\n".join(map(str, range(IMAGES))))
    (root / "ImageSets" / "Main" / "test.txt").write_text("test")
    return root


def test_figures_of_cuts_in_images_that_are_not_square(voc: Path, tmp_path: Path) -> None:
    out, told, seen = tmp_path / "out", [], []
    report = assess(
        ["weaker", "good", "weak"],
        load_dataset("voc", voc),
        out,
        max_regions=1,
        progress=lambda done, total: seen.append((done, total)),
        say=told.append,
    )
    assert report == json.loads((out / "assessment.json").read_text())
    rows = {row["name"]: row for row in report["rows"]}
    assert list(rows) == ["good", "weak", "weaker"]  # by Fiedler value
    assert (rows["good"]["corloc"], rows["good"]["ap50"]) == (1, pytest.approx(1))
    assert (rows["weak"]["corloc"], rows["weak"]["ap50"]) == (0, 0)
    assert (rows["good"]["images"], rows["good"]["boxed_images"]) == (6, 5)
    # Two cliques of 2 and 14 patches, joined by edges of one weight: λ2 is that weight times the 16 patches.
    assert rows["good"]["fiedler"] == pytest.approx(math.exp(-1))
    assert rows["weak"]["fiedler"] == pytest.approx(math.exp(-0.5))
    assert rows["good"]["fiedler_interval"] == pytest.approx([math.exp(-1)] * 2)
    assert report["reference"] == {"whole image": 0, "centre": 0}
    assert report["spearman"]["ap50"] == pytest.approx(-math.sqrt(3) / 2)  # ranks 1, 2, 3 against 3, 1½, 1½
    assert seen[-1] == (18, 18)
    assert told[1] == "2/3  good: keys, tau 0.9, not centred, self-loops 0 (given)"
    files = {"assessment.json", "assessment.md", "fiedler-ap50.png"}
    sheets = {"contact-sheet-1-weaker.png", "contact-sheet-2-good.png", "contact-sheet-3-weak.png"}
    assert {file.name for file in out.iterdir()} == files | sheets


def test_the_tables(voc: Path, tmp_path: Path) -> None:
    report = assess(["good", "weak"], load_dataset("voc", voc), tmp_path / "out", max_regions=1)
    lines = (tmp_path / "out" / "assessment.md").read_text().splitlines()
    assert lines[0] == "# 6 images of voc, train split"
    assert lines[4] == "| good | keys | 0.3679 (0.3679 – 0.3679) | 100.0 | 100.0 |"
    assert "| whole image |  |  | 0.0 |  |" in lines
    assert not any("Spearman" in line for line in lines)  # two rows always agree or disagree
    console = Console(width=120, file=io.StringIO())
    with console.capture() as capture:
        console.print(assessment_table(report))
    shown = capture.get()
    assert "whole image" in shown
    assert shown.index("good") < shown.index("weak")


def test_reference_boxes_scale_with_the_image(tmp_path: Path) -> None:
    Image.new("RGB", (560, 56)).save(tmp_path / "x.png")
    centred = Box("dog", 60, 6, 500, 50)  # 11/14 of each side
    samples = [
        Sample("middle", tmp_path / "x.png", frozenset({"dog"}), boxes=(centred,)),
        Sample("all", tmp_path / "x.png", frozenset({"dog"}), boxes=(Box("dog", 0, 0, 560, 56),)),
        Sample("most", tmp_path / "x.png", frozenset({"dog"}), boxes=(Box("dog", 120, 12, 440, 44),)),
    ]
    report = assess(["good"], Dataset("some", ("dog",), samples, samples), tmp_path / "out")
    # 11/14 squared is 0.617 of the whole; 320 × 32 is 0.33 of the whole and 0.53 of the middle.
    assert report["reference"] == pytest.approx({"whole image": 2 / 3, "centre": 1})


def test_true_boxes_and_cuts_are_on_the_contact_sheet(voc: Path, tmp_path: Path) -> None:
    assess(["good"], load_dataset("voc", voc), tmp_path / "out", max_regions=1)
    with Image.open(tmp_path / "out" / "contact-sheet-1-good.png") as sheet:
        pixels = np.asarray(sheet.convert("RGB")).astype(int)
    blue = (pixels[..., 2] > 150) & (pixels[..., 0] < 60)
    orange = (pixels == COLOURS[0]).all(axis=2)
    top = np.nonzero(blue.any(axis=1))[0][0]  # the first thumbnail is 240 × 120, below the legend
    left = np.nonzero(blue.any(axis=0))[0][0]
    columns = np.nonzero(orange[top : top + 120, left : left + 240].any(axis=0))[0]
    assert (columns.min(), columns.max()) == pytest.approx((120, 179), abs=2)


def test_fiedler_values_are_those_of_the_paper(tiny: Backbone, shapes: Path, tmp_path: Path) -> None:
    dataset = load_dataset("folder", shapes)
    report = assess(["tiny"], dataset, tmp_path / "out", images=18, sigma=0.7)
    assert len(report["samples"]) == 18  # more than a batch
    chosen = [sample for sample in dataset.train if sample.id in report["samples"]]
    values = []
    for sample in chosen:
        with torch.no_grad():
            patches = tiny(read_squashed(sample.path, 32)[None]).patches[0].double().numpy()
        units = patches / np.linalg.norm(patches, axis=1, keepdims=True)
        kernel = np.exp(-((units[:, None] - units[None]) ** 2).sum(axis=2) / (2 * 0.7**2))
        laplacian = np.diag(kernel.sum(axis=1)) - kernel
        values.append(np.linalg.eigvalsh(laplacian)[1] / len(patches))
    (row,) = report["rows"]
    assert row["fiedler"] == pytest.approx(np.mean(values), rel=1e-4)
    reach = 2.10982 * np.std(values, ddof=1) / math.sqrt(18)  # Student's t, 17 degrees of freedom
    assert row["fiedler_interval"] == pytest.approx([np.mean(values) - reach, np.mean(values) + reach], rel=1e-4)


def test_without_boxes_there_is_no_more_than_the_fiedler_value(shapes: Path, tmp_path: Path) -> None:
    report = assess(["tiny"], load_dataset("folder", shapes), tmp_path / "out", images=1, split="test")
    (row,) = report["rows"]
    assert not {"corloc", "ap50", "boxed_images"} & set(row)
    assert (report["reference"], report["spearman"], row["fiedler_interval"]) == ({}, {}, None)
    assert "CorLoc" not in (tmp_path / "out" / "assessment.md").read_text()
    assert not (tmp_path / "out" / "fiedler-ap50.png").exists()


def test_unreadable_images_are_skipped_and_counted(voc: Path, tmp_path: Path) -> None:
    broken = voc / "JPEGImages" / "1.jpg"
    broken.write_bytes(b"?")
    report = assess(["good", "weak"], load_dataset("voc", voc), tmp_path / "out")
    assert list(report["unreadable"]) == [str(broken)]
    assert [row["images"] for row in report["rows"]] == [5, 5]
    assert "1 unreadable images were skipped" in (tmp_path / "out" / "assessment.md").read_text()
    for number in range(IMAGES):
        (voc / "JPEGImages" / f"{number}.jpg").write_bytes(b"?")
    with pytest.raises(DataError, match=r"none of the 6 images is readable: .*0\.jpg"):
        assess(["good"], load_dataset("voc", voc), tmp_path / "other")


def test_every_backbone_with_every_kind_of_features(voc: Path, tmp_path: Path) -> None:
    dataset = load_dataset("voc", voc)
    report = assess(["good", "weak", "good"], dataset, tmp_path / "out", images=1, features=["keys", "tokens"])
    rows = [(row["backbone"], row["settings"]["features"]) for row in report["rows"]]
    assert sorted(rows) == [("good", "keys"), ("good", "tokens"), ("weak", "keys"), ("weak", "tokens")]


def test_what_is_measured_outlives_a_stop(voc: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        assess(["good", "weak"], load_dataset("voc", voc), tmp_path / "out", progress=stop)
    report = json.loads((tmp_path / "out" / "assessment.json").read_text())
    assert [row["name"] for row in report["rows"]] == ["good"]


def test_mistakes_leave_nothing_behind(voc: Path, tmp_path: Path) -> None:
    dataset, out = load_dataset("voc", voc), tmp_path / "out"
    with pytest.raises(CuterError, match="no backbone typo"):
        assess(["good", "typo"], dataset, out)
    with pytest.raises(ConfigError, match="sigma must be a number above 0, not 0"):
        assess(["good"], dataset, out, sigma=0)
    with pytest.raises(ConfigError, match=r"unknown split 'tset'\. Did you mean 'test'\? Accepted: train, test"):
        assess(["good"], dataset, out, split="tset")
    assert not out.exists()
    with pytest.raises(ConfigError, match="is not empty"):
        assess(["good"], dataset, voc)


def test_the_draw_is_fixed() -> None:
    samples = [Sample(str(number), Path(), frozenset()) for number in range(100)]
    dataset = Dataset("some", ("dog",), samples, samples[:3])
    first = draw(dataset, "train", 10, seed=0)
    assert first == draw(dataset, "train", 10, seed=0) != draw(dataset, "train", 10, seed=1)
    assert len(set(first)) == 10
    assert draw(dataset, "test", 10, seed=0) == samples[:3]


def row(name: str, fiedler: float, ap50: float) -> dict[str, Any]:
    interval = [fiedler - 0.01, fiedler + 0.01]
    return {
        "name": name,
        "settings": {"features": "keys"},
        "fiedler": fiedler,
        "fiedler_interval": interval,
        "ap50": ap50,
    }


CROWD = [row(f"vit-tiny-patch16-{number}", 0.4 + number / 1000, 0.2 + number / 2000) for number in range(6)]


@pytest.mark.parametrize("rows", [CROWD[:1], [*CROWD, row("far", 0.8, 0.0)], [row("x", 0.5, 0.3)] * 3])
def test_labels_of_the_plot_do_not_overlap(rows: Sequence[dict[str, Any]]) -> None:
    figure = plot(rows)
    (axes,) = figure.axes
    figure.draw_without_rendering()
    texts = [text for text in axes.texts if text.get_text()]
    assert len(texts) == len(rows)
    places = [text.get_window_extent() for text in texts]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(places, 2))
    dots = [axes.transData.transform((one["fiedler"], 100 * one["ap50"])) for one in rows]
    assert not any(place.contains(*dot) for place in places for dot in dots)
    assert all(axes.bbox.containsx(place.x1) and axes.bbox.containsy(place.y1) for place in places)
