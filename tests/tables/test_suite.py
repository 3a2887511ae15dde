"""The suites: published figures as the paper prints them, rows that can run, settings that are shared."""

import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from cuter.cli.settings_options import field_help
from cuter.errors import ConfigError, UnknownNameError
from cuter.learn.settings import LearnerSettings
from cuter.settings import validated
from cuter.show import demo
from cuter.show.assessment_table import assessment_names
from cuter.tables.jobs import Request, parse_backbones, plan_jobs
from cuter.tables.suite import Published, Suite, load_suite, suite_names

REPOSITORY = Path(__file__).resolve().parents[2]

# Typed from the paper's tables by hand: suite, row, column, text.
TYPED = [
    ("voc", "RS", "average.map", "75.05 ± 1.28"),
    ("voc", "RS", "last.of1@0.8", "46.09 ± 1.24"),
    ("voc", "GSS", "last.map", "58.64 ± 1.29"),
    ("voc", "iCaRL", "average.map", "72.67 ± 3.14"),
    ("voc", "NsCE", "average.cf1_mean@0.8", "64.42 ± 1.05"),
    ("voc", "KRT", "last.map", "38.90 ± 0.77"),
    ("voc", "APPLE", "average.of1@0.8", "66.74 ± 1.23"),
    ("voc", "PRS", "last.cf1_mean@0.8", "42.15 ± 1.15"),
    ("voc", "OCDM", "last.map", "45.35 ± 1.12"),
    ("voc", "AGCN", "average.of1@0.8", "61.87 ± 2.04"),
    ("voc", "AGCN++", "last.map", "55.34 ± 0.87"),
    ("voc", "CUTER", "average.map", "82.07 ± 0.53"),
    ("voc", "CUTER", "last.of1@0.8", "59.98 ± 1.17"),
    ("plug", "Cut.Rep w/ PRS", "average.map", "81.35 ± 1.02"),
    ("plug", "CUTER w/ AGCN", "average.map", "76.95 ± 1.14"),
    ("ablation", "CUTER, frozen localiser", "last.map", "64.95 ± 0.83"),
    ("coco", "OCDM", "average.map", "55.45 ± 0.87"),
    ("coco", "RS", "last.cf1_mean@0.8", "6.44 ± 1.56"),
    ("coco", "CUTER", "last.of1@0.8", "39.18 ± 0.65"),
    ("nuswide", "OCDM", "last.map", "29.41 ± 0.65"),
    ("nuswide", "AGCN++", "average.cf1_mean@0.8", "40.17 ± 1.28"),
    ("regularisation", "CUTER w/ R_sm", "last.map", "65.63 ± 0.92"),
    ("curves", "GSS", "last.map", "58.64 ± 1.29"),
    ("balance", "CUTER", "average.map", "82.07 ± 0.53"),
    ("backbones", "CUTER, dino-vitt16", "average.map", "81.84"),
    ("backbones", "OCDM, mae-resnet50", "last.map", "44.97"),
]


@pytest.mark.parametrize(("name", "row", "column", "text"), TYPED)
def test_published_figures(name: str, row: str, column: str, text: str) -> None:
    suite = load_suite(name)
    assert str(suite.published(suite.row(row), column)) == text


def test_a_table_without_a_published_column_has_no_published_figures() -> None:
    assert not any(row.published for row in load_suite("throughput").rows)


def test_the_bounds_have_no_published_figure() -> None:
    suite = load_suite("voc")
    assert suite.published(suite.row("joint"), "average.map") is None


@pytest.mark.parametrize("name", suite_names())
def test_every_row_is_a_valid_run_in_every_scale(name: str) -> None:
    suite = load_suite(name)
    names = {row.backbone or "": f"of {row.backbone}" for row in suite.rows}
    assert {"full", "small"} <= suite.scales.keys()
    for scale in suite.scales:
        jobs = plan_jobs(suite, Request(Path("/nowhere"), names, scale, seeds=2), Path("/nowhere/out"))
        assert len(jobs) == 2 * len(suite.rows)
        assert len({job.folder for job in jobs}) == len(jobs)  # no two rows are the same run


def test_help_names_all_parts_of_the_papers_tables() -> None:
    methods = {row.method for name in ("voc", "plug", "ablation", "regularisation") for row in load_suite(name).rows}
    for part in ("memory", "head", "teacher", "regulariser"):
        names = {getattr(LearnerSettings(method=method), part).kind for method in methods}
        assert len(names) >= 4
        assert names <= set(re.findall(r"[\w+-]+", field_help(LearnerSettings.model_fields[part])))


def test_a_scale_may_have_its_own_number_of_seeds() -> None:
    suite = load_suite("voc")
    assert [suite.seeds(scale) for scale in ("full", "medium", "small")] == [3, 3, 1]
    assert "seeds" not in suite.scale("small")  # it is no setting of a run
    with pytest.raises(UnknownNameError, match="voc has no scale 'tiny'"):
        suite.seeds("tiny")


def test_runs_of_voc_are_runs_of_plug_and_of_the_ablation() -> None:
    def folders(name: str) -> dict[str, Path]:
        request = Request(Path("/nowhere"), {"": "dino-vits16"}, "small", seeds=1)
        return {job.row.name: job.folder for job in plan_jobs(load_suite(name), request, Path("/nowhere/out"))}

    voc, plug, ablation = folders("voc"), folders("plug"), folders("ablation")
    for shared in ("RS", "PRS", "OCDM", "KRT", "AGCN", "CUTER"):
        assert voc[shared] == plug[shared]
    assert ablation["Cut.Rep"] == plug["Cut.Rep"]
    assert ablation["RS"] == voc["RS"]


def test_bounds_have_no_memory_whatever_is_set_for_all() -> None:
    request = Request(Path("/nowhere"), {"": "dino-vits16"}, "small", seeds=1, settings={"memory.images": 77})
    memory = {
        job.row.name: job.config.learner.memory.images for job in plan_jobs(load_suite("voc"), request, Path("out"))
    }
    assert memory["RS"] == 77
    assert memory["finetune"] == memory["joint"] == 0


def test_the_example_of_contributing_is_a_suite() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    suite = validated(Suite, {"name": "coin", **yaml.safe_load(example)})
    assert [row.method for row in suite.rows] == ["rs", "er-coin", "cuter"]


def test_the_page_tells_of_every_suite() -> None:
    text = (REPOSITORY / "docs" / "how-to" / "paper-tables.md").read_text(encoding="utf-8")
    assert [
        name
        for name in [*suite_names(), *assessment_names()]
        if f"| `{name}`" not in text and f", `{name}`" not in text
    ] == []


def test_published_text_is_read_strictly() -> None:
    assert Published.parse("75.05").std is None
    with pytest.raises(ValueError, match="is like"):
        Published.parse("75,05")


def test_a_suite_with_a_name_that_means_nothing_is_refused() -> None:
    fields = load_suite("voc").model_dump(exclude={"rows"})
    rows = [{"name": "RS", "method": "rs"}, {"name": "GSS", "method": "gss"}]
    with pytest.raises(ConfigError, match=r"no row is named 'GS'\. Did you mean 'GSS'"):
        validated(Suite, fields | {"rows": [*rows, {"name": "CUTER", "method": "cuter", "against": ["GS"]}]})
    with pytest.raises(ConfigError, match=r"unknown column 'last\.mapp'"):
        validated(Suite, fields | {"rows": rows, "columns": ["last.mapp"]})
    with pytest.raises(ConfigError, match="scale full has 0 seeds"):
        validated(Suite, fields | {"rows": rows, "scales": {"full": {"seeds": 0}}})
    with pytest.raises(ValidationError):
        Suite(**(fields | {"rows": []}))


def test_backbones_by_name_choose_the_rows_and_new_names_get_their_own() -> None:
    suite = load_suite("backbones")
    given = parse_backbones(["mae-vits16=/weights/mae", "mine=/weights/mine", "dino-resnet50"], suite)
    assert given == {"mae-vits16": "/weights/mae", "mine": "/weights/mine", "dino-resnet50": "dino-resnet50"}
    rows = {row.name: row for row in suite.for_backbones(list(given)).rows}
    assert set(rows) == {f"{name}, {backbone}" for name in ("OCDM", "CUTER") for backbone in given}
    assert rows["CUTER, mine"].against == ("OCDM, mine",)
    assert rows["CUTER, mine"].published == ()
    assert str(rows["CUTER, mae-vits16"].published[0]) == "77.31"
    assert suite.for_backbones(["mae-vits16"]).reference == "OCDM, mae-vits16"
    with pytest.raises(ConfigError, match="two backbones are named 'mine'"):
        parse_backbones(["mine=/a", "mine=/b"], suite)
    with pytest.raises(ConfigError, match="needs --backbone NAME=BACKBONE"):
        parse_backbones([], suite)


def test_one_backbone_for_all_rows() -> None:
    assert parse_backbones(["dino=v1"], load_suite("voc")) == {"": "dino=v1"}
    with pytest.raises(ConfigError, match="one --backbone"):
        parse_backbones([], load_suite("voc"))


def test_a_suite_may_bring_its_backbone() -> None:
    assert parse_backbones([], load_suite("toybox")) == {"": "toybox"}
    assert parse_backbones(["mine"], load_suite("toybox")) == {"": "mine"}


def test_the_toybox_has_the_settings_of_the_demonstration() -> None:
    suite = load_suite("toybox")
    scenes = {"dataset_options": suite.scale("small")["dataset_options"]}
    assert suite.common | scenes == demo.OPTIONS | {"backbone": demo.BACKBONE} | scenes
    assert {row.method for row in suite.rows} >= set(demo.COMPARED)
