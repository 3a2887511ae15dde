"""Puts the page together and writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cuter.errors import ConfigError, CuterError
from cuter.show.charts import outcome_class
from cuter.show.page_shell import fill_page
from cuter.show.report.checkpoint_view import Inside, TestImages, look_inside, to_be_shown
from cuter.show.report.heading import default_title, shared_facts
from cuter.show.report.predictions import SURE
from cuter.show.report.sections import sections
from cuter.show.run_labels import NamedRun, read_runs
from cuter.show.run_tables import headline
from cuter.storage import write_text

GENERATOR = "cuter report"


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
    shown = to_be_shown(runs)
    known: TestImages = {}
    insides: dict[str, Inside] = {}
    for number, run in enumerate(shown):
        if progress is not None:
            progress(number, len(shown))
        insides[run.label] = look_inside(run.record, known)
    if progress is not None:
        progress(len(shown), len(shown))
    page = render(runs, insides, title)
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


def render(runs: Sequence[NamedRun], insides: Mapping[str, Inside], title: str | None = None) -> str:
    """Return the page; `insides` are by the labels of runs, and need not be there for all."""
    return fill_page(
        generator=GENERATOR,
        source="from the folders of the runs",
        title=title or default_title(runs),
        headline=headline(runs),
        shared=shared_facts(runs),
        runs=runs,
        sections=sections(runs, insides),
        outcome_class=outcome_class,
        sure=f"{100 * SURE:.0f}",
    )
