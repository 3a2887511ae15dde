import json
import shutil
from pathlib import Path

import pytest

from cuter.errors import CheckpointError, ConfigError, CuterError, DataError
from cuter.show.report import write_report
from made_up_runs import Page, report_of, write_run

SUMMARY, BALANCE = 0, "Which classes fill memory"
COLUMNS = [
    ("average", "map"), ("last", "map"),
    ("average", "cf1_mean@0.8"), ("last", "cf1_mean@0.8"),
    ("average", "of1@0.8"), ("last", "of1@0.8"),
]  # fmt: skip


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_by_name(page: Page, table: int) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in page.tables[table] if row}


def test_numbers_are_those_of_the_summaries(real_runs: list[Path], tmp_path: Path) -> None:
    before = [contents(folder) for folder in real_runs]
    page, html = report_of(real_runs, tmp_path / "page.html")
    for folder in real_runs:
        summary = json.loads((folder / "summary.json").read_text())
        row = rows_by_name(page, SUMMARY)[folder.name]
        expected = [f"{summary[when][figure]:.1f}" for when, figure in COLUMNS]
        expected += [f"{summary['mean_forgetting']:.1f}", f"{summary['train_images_per_second']:,.1f}"]
        assert row == [*expected, str(summary["memory_items"])]
        for task, text in enumerate(rows_by_name(page, SUMMARY + 1)[folder.name]):
            assert text == f"{summary['tasks'][task]['scores']['map']:.1f}"
    assert write_report(real_runs, tmp_path / "again.html").read_text() == html, "the same runs, the same bytes"
    assert [contents(folder) for folder in real_runs] == before, "runs are only looked at"


def test_the_page_of_real_runs_is_whole(real_runs: list[Path], tmp_path: Path) -> None:
    page, html = report_of(real_runs, tmp_path / "page.html")
    assert page.headings_of("h1") == ["rs and cuter on folder"]
    assert page.headings_of("h2") == [
        "Summary",
        "mAP after each task",
        "Average precision of each class at the end",
        "Which classes fill memory",
        "What memory holds",
        "What is cut out of test images",
        "Which cut-outs were kept, and why others were not",
        "How well the model cuts, task by task",
        "How the runs were made",
    ]
    assert page.notes == []
    assert len(page.ids) == len(set(page.ids))
    outside = [address for address in page.addresses if not address.startswith(("#", "data:image/jpeg;base64,"))]
    assert outside == []
    assert {address[1:] for address in page.addresses if address.startswith("#")} <= set(page.ids)
    assert "url(" not in html
    assert "@import" not in html
    assert all(attributes.get("alt") for tag, attributes in page.elements if tag == "img")
    drawings = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert all(one.get("aria-label") or one.get("aria-hidden") == "true" for one in drawings)


def test_whatever_comes_from_outside_is_escaped(real_runs: list[Path], tmp_path: Path) -> None:
    nasty = '<b>&"ö猫'
    page, html = report_of(real_runs, tmp_path / "page.html", title="<script>alert(1)</script> & more")
    assert page.headings_of("h1") == ["<script>alert(1)</script> & more"]
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not [tag for tag, _ in page.elements if tag == "b"]
    assert "<b>" not in html
    assert any(nasty in alt for alt in page.alts), "in the text that stands for a picture"
    assert any(nasty in cell for table in page.tables for row in table for cell in row)

    folder = tmp_path / "<i>run</i>"
    write_run(folder, method="cuter", class_order="<i>x</i>", cutouts=True)
    write_run(tmp_path / "other", method="cuter", class_order="'\"><i>", numbers=1)
    page, html = report_of([folder, tmp_path / "other"], tmp_path / "page.html")
    assert "<i>" not in html
    assert any("<i>" in text for text in page.headings_of("h3")), "a setting that tells runs apart is in their names"


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    write_run(tmp_path / "whole", tasks=3, method="cuter")
    write_run(tmp_path / "half", tasks=2, finished=False, numbers=1)
    text = (tmp_path / "half" / "metrics.jsonl").read_text()
    (tmp_path / "half" / "metrics.jsonl").write_text(text + '{"step": 11, "ta')
    (tmp_path / "begun").mkdir()
    shutil.copy(tmp_path / "half" / "config.yaml", tmp_path / "begun")
    page, _ = report_of([tmp_path / "whole", tmp_path / "half", tmp_path / "begun"], tmp_path / "page.html")
    names = list(rows_by_name(page, SUMMARY))
    assert names[-3].startswith("cuter")
    assert "unfinished, 2 tasks tested" in names[-2]
    assert "not tested yet" in names[-1]
    assert rows_by_name(page, SUMMARY)[names[-1]] == ["–"] * 9
    assert page.bold == [], "an average over two tasks does not compete with one over three"
    assert all("no checkpoint yet" in note for note in page.notes)


def test_runs_without_anything(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    for name in ("metrics.jsonl", "summary.json", "environment.json"):
        (tmp_path / "run" / name).unlink()
    page, html = report_of([tmp_path / "run"], tmp_path / "page.html")
    assert "No run has been tested yet." in html
    assert page.headings_of("h2") == ["Summary", "How the runs were made"]
    assert page.notes == ["rs: its memory is not shown: it has no checkpoint yet."]


def test_what_a_run_has_no_data_for_is_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "rs")
    page, _ = report_of([tmp_path / "rs"], tmp_path / "page.html")
    assert not [text for text in page.headings_of("h2") if "refused" in text or "kept" in text]
    write_run(tmp_path / "cuter", method="cuter", cutouts=True)
    page, _ = report_of([tmp_path / "rs", tmp_path / "cuter"], tmp_path / "page.html")
    (totals,) = [table for table in page.tables if table[0][0] == "In total"]
    assert totals[0] == [
        "In total",
        "kept",
        "no region",
        "another label",
        "unsure",
        "two labels",
        "no place in memory",
        "all",
    ]
    assert totals[1:] == [["cuter", "30 32 %", "10 11 %", "0 0 %", "55 58 %", "0 0 %", "0 0 %", "95"]]


@pytest.mark.parametrize("file", ["learner.safetensors", "manifest.json"])
def test_damaged_checkpoints_cost_the_pictures_only(real_runs: list[Path], file: str, tmp_path: Path) -> None:
    shutil.copytree(real_runs[0], tmp_path / "rs")
    for checkpoint in (tmp_path / "rs" / "checkpoints").glob("step-*"):
        (checkpoint / file).write_bytes(b"\0" + (checkpoint / file).read_bytes()[1:])
    before = contents(tmp_path / "rs")
    page, _ = report_of([tmp_path / "rs", real_runs[1]], tmp_path / "page.html")
    assert str(tmp_path / "rs" / "checkpoints") in page.notes[0]
    assert page.notes[1] == "No pictures of rs: its checkpoint cannot be read."
    assert any("cut-out" in alt or "whole image" in alt for alt in page.alts), "the other run has its pictures"
    assert "mAP after each task" in page.headings_of("h2")
    assert contents(tmp_path / "rs") == before


def test_a_data_set_that_is_gone_costs_the_test_images_only(real_runs: list[Path], tmp_path: Path) -> None:
    shutil.copytree(real_runs[1], tmp_path / "cuter")
    config = tmp_path / "cuter" / "config.yaml"
    config.write_text("".join(f"{line}\n" for line in config.read_text().splitlines() if "data_root" not in line))
    with config.open("a") as file:
        file.write(f"data_root: {tmp_path / 'gone'}\n")
    page, _ = report_of([tmp_path / "cuter"], tmp_path / "page.html")
    (note,) = page.notes
    assert note.startswith("cuter: no test images are shown")
    assert str(tmp_path / "gone") in note
    assert "What is cut out of test images" not in page.headings_of("h2")
    assert page.alts
    assert all("test image" not in alt for alt in page.alts)


def test_one_class_and_one_task(tmp_path: Path) -> None:
    write_run(tmp_path / "run", tasks=1, new_classes=1, cutouts=True)
    page, _ = report_of([tmp_path / "run"], tmp_path / "page.html")
    assert rows_by_name(page, SUMMARY)["rs"][6] == "–", "nothing can be forgotten"
    assert rows_by_name(page, SUMMARY + 1) == {"after task": ["1"], "rs": [rows_by_name(page, SUMMARY)["rs"][0]]}


def test_ten_thousand_classes_do_not_make_a_huge_page(tmp_path: Path) -> None:
    for number, method in enumerate(("rs", "cuter")):
        write_run(tmp_path / method, tasks=2, new_classes=5000, method=method, numbers=number)
    page, html = report_of([tmp_path / "rs", tmp_path / "cuter"], tmp_path / "page.html")
    assert len(html.encode()) < 1_000_000
    assert "120 of 10,000 classes" in html
    assert max(map(len, page.tables)) < 140


@pytest.mark.parametrize("name", ["nothing", "folder", "file"])
def test_what_is_no_run_is_named(name: str, tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("no run")
    with pytest.raises(ConfigError, match=f"{name} holds no run"):
        write_report([tmp_path / "run", tmp_path / name], tmp_path / "page.html")
    with pytest.raises(ConfigError, match="at least one run"):
        write_report([], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        ("config.yaml", "- a list", ConfigError),
        ("config.yaml", "method: [", ConfigError),
        ("metrics.jsonl", '{"step": 1\n{"step": 2}\n', DataError),
        ("summary.json", '{"tasks": [{"task": 3}]}', CheckpointError),
        ("summary.json", "{", CheckpointError),
    ],
)
def test_files_that_cannot_be_read_are_named(file: str, text: str, error: type[CuterError], tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / file).write_text(text)
    with pytest.raises(error, match=str(tmp_path / "run")):
        write_report([tmp_path / "run"], tmp_path / "page.html")


def test_only_an_earlier_report_is_replaced(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    write_run(tmp_path / "other", method="cuter")
    out = tmp_path / "new" / "page.html"
    first = write_report([tmp_path / "run"], out).read_text()
    assert write_report([tmp_path / "other"], out).read_text() != first
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]
    out.write_text("<html>my thesis</html>")
    with pytest.raises(ConfigError, match="something else than a report"):
        write_report([tmp_path / "run"], out)
    assert out.read_text() == "<html>my thesis</html>"
    with pytest.raises(ConfigError, match="is a folder"):
        write_report([tmp_path / "run"], tmp_path)
    with pytest.raises(CuterError, match="cannot be written"):
        write_report([tmp_path / "run"], out / "page.html")


def test_a_run_that_is_given_twice_is_shown_once(tmp_path: Path) -> None:
    write_run(tmp_path / "run")
    page, _ = report_of([tmp_path / "run", tmp_path / "x" / ".." / "run"], tmp_path / "page.html")
    assert len(page.tables[SUMMARY]) == 3


def test_that_one_seed_stands_for_all_is_said(real_runs: list[Path], tmp_path: Path) -> None:
    _, html = report_of(real_runs, tmp_path / "page.html")
    assert "nothing but their seed" not in html
    shutil.copytree(real_runs[0], tmp_path / "copy")
    page, html = report_of([*real_runs, tmp_path / "copy"], tmp_path / "page.html")
    assert html.count("nothing but their seed, one is shown") == 1
    assert "rs, copy" in rows_by_name(page, SUMMARY)


def test_skipped_images_are_named(tmp_path: Path) -> None:
    summary = write_run(tmp_path / "run")
    summary["skipped"] = {f"{number}.jpg": f"{number}.jpg: cannot read <it>" for number in range(60)}
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary))
    page, html = report_of([tmp_path / "run"], tmp_path / "page.html")
    assert "rs: 60 skipped" in html
    assert html.count("cannot read &lt;it&gt;") == 50
    assert any("first 50" in note for note in page.notes)
