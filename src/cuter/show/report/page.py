"""Puts the page together and writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cuter.errors import ConfigError, CuterError
from cuter.show.charts import outcome_class
from cuter.show.page_shell import fill_page
from cuter.show.report.checkpoint_view import CheckpointView, TestImages, runs_to_show, view_checkpoint
from cuter.show.report.predictions import SURE
from cuter.show.report.sections import sections
from cuter.show.run_labels import NamedRun, full_settings, read_runs, shortened, value_text
from cuter.show.run_tables import headline
from cuter.storage import write_text

GENERATOR = "cuter report"
MOST_METHODS = 4  # in a title
LONGEST = 40  # letters of a backbone


def write_report(
    folders: Sequence[Path], out: Path, title: str | None = None, progress: Callable[[int, int], None] | None = None
) -> Path:
    """Compare runs, finished or not, in one self-contained HTML page; the same runs give the same bytes.

    `progress` is called with the number of checkpoints that were looked into, and of all. Only an earlier report is
    replaced.
    """
    _require_replaceable(out)
    if not folders:
        raise ConfigError("a report needs the folder of at least one run")
    runs = read_runs(folders)
    shown = runs_to_show(runs)
    known: TestImages = {}
    views: dict[str, CheckpointView] = {}
    for number, run in enumerate(shown):
        if progress is not None:
            progress(number, len(shown))
        views[run.label] = view_checkpoint(run.record, known)
    if progress is not None:
        progress(len(shown), len(shown))
    page = render(runs, views, title)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text(out, page)
    except OSError as error:
        raise CuterError(f"{out} cannot be written: {error}") from None
    return out


def _require_replaceable(out: Path) -> None:
    if out.is_dir():
        raise ConfigError(f"{out} is a folder: --out names the file of the page, such as {out / 'report.html'}")
    if out.is_file() and f'content="{GENERATOR}"'.encode() not in out.read_bytes()[:1000]:
        raise ConfigError(f"{out} holds something else than a report: choose another --out")


def render(runs: Sequence[NamedRun], views: Mapping[str, CheckpointView], title: str | None = None) -> str:
    """Return the page; `views` are by the labels of runs, and need not be there for all."""
    return fill_page(
        generator=GENERATOR,
        source="from the folders of the runs",
        title=title or _default_title(runs),
        headline=headline(runs),
        shared=_shared_facts(runs),
        runs=runs,
        sections=sections(runs, views),
        outcome_class=outcome_class,
        sure=f"{100 * SURE:.0f}",
    )


def _default_title(runs: Sequence[NamedRun]) -> str:
    """Name the methods, and the data set if it is one for all."""
    methods = list(dict.fromkeys(str(full_settings(run.record.config)["method"]) for run in runs))
    datasets = {value_text(run.record.config.get("dataset")) for run in runs}
    if len(methods) > MOST_METHODS:
        methods[MOST_METHODS - 1 :] = [f"{len(methods) - MOST_METHODS + 1} more"]
    said = " and ".join([", ".join(methods[:-1]), methods[-1]] if len(methods) > 1 else methods)
    return f"{said} on {datasets.pop()}" if len(datasets) == 1 else said


def _shared_facts(runs: Sequence[NamedRun]) -> list[str]:
    """Return what all runs have in common and a reader wants to know first."""
    tests = [run.record.results[-1] for run in runs if run.record.results]
    facts = [_counted(len(runs), "run", "runs")]
    if tests and len({(one.task, one.classes, one.images) for one in tests}) == 1:
        test = tests[0]
        facts.append(f"{_counted(test.task + 1, 'task', 'tasks')}, {_counted(len(test.classes), 'class', 'classes')}")
        facts.append(_counted(test.images, "test image", "test images"))
    backbones = {str(run.record.config.get("backbone", "")) for run in runs}
    budgets = {str(full_settings(run.record.config).get("memory.images", "")) for run in runs}
    if len(backbones) == 1 and (backbone := backbones.pop()):
        facts.append("backbone " + shortened(backbone.rstrip("/").rpartition("/")[2], LONGEST))
    if len(budgets) == 1 and (budget := budgets.pop()):
        facts.append(f"room in memory for {_counted(int(budget), 'image', 'images')}")
    return facts


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
