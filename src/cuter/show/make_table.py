"""From a name to a table: what is asked for is checked first, then carried out, then written."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from cuter.errors import ConfigError
from cuter.runs.tracking.trackers import require_clients
from cuter.show.figures import draw_figures
from cuter.show.narrow import show
from cuter.show.suite_folder import write_page, write_results
from cuter.show.suite_tables import suite_terminal
from cuter.show.table_display import TableDisplay, states_table
from cuter.tables.estimate import estimate, free_bytes
from cuter.tables.execute.execute import Executor, Failure, carry_out
from cuter.tables.execute.local import ThisMachine
from cuter.tables.jobs import Job, Request, parse_backbones, plan_jobs
from cuter.tables.results import collect
from cuter.tables.results_folder import ResultsFolder, keep_result, read_results_folder
from cuter.tables.streams import check_backbones, steps_of, streams_of
from cuter.tables.suite import Suite, load_suite


@dataclass(frozen=True)
class TableJob:
    """A table that was asked for, with all its runs."""

    suite: Suite
    request: Request
    out: Path
    folder: Path  # of the table
    place: Executor
    at_once: int
    jobs: list[Job]
    results: ResultsFolder | None = None  # where finished runs leave files, which count as finished runs

    @property
    def unique(self) -> list[Job]:
        """The runs, each once: rows may share one."""
        return list({job.folder: job for job in self.jobs}.values())


def executor_of(device: str, address: str | None) -> AbstractContextManager[Executor]:
    """Return where runs are carried out: on the Ray cluster at an address, or on this machine."""
    if address is None:
        return nullcontext(ThisMachine(device))
    from cuter.tables.execute.ray_cluster import ray_cluster  # here, because not everybody has Ray

    return ray_cluster(address, device)


def prepare(
    name: str,
    request: Request,
    backbones: Sequence[str],
    out: Path,
    *,
    place: Executor,
    at_once: int | None,
    results: Path | None = None,
) -> TableJob:
    """Check what is asked of one of the paper's tables and find the runs it is made of; nothing is written.

    With a results folder and nothing to run, data and backbone that are not named are those of its files.
    """
    suite = load_suite(name)
    kept = None if results is None else read_results_folder(results)
    if kept is not None and at_once == 0:
        if request.data_root is None and (data := kept.only("data_root")) is not None:
            request = replace(request, data_root=Path(data))
        if not backbones and (backbone := kept.only("backbone")) is not None:
            backbones = [backbone]
    named = parse_backbones(backbones, suite)
    request = replace(request, backbones=named)
    suite = suite.for_backbones(list(named))
    made = plan_table(suite, request, out, f"{name}-{request.scale}", place=place, at_once=at_once)
    return made if kept is None else replace(made, jobs=kept.attach(made.jobs), results=kept)


def plan_table(
    suite: Suite, request: Request, out: Path, folder: str, *, place: Executor, at_once: int | None
) -> TableJob:
    """Find the runs that a table is made of; `folder` under `out` is for the table itself."""
    if at_once is None:
        at_once = 1 if suite.alone else place.room
    if suite.alone and at_once > 1:
        raise ConfigError(f"{suite.name} measures speed: its runs are carried out one at a time, not --jobs {at_once}")
    settings = dict(request.settings)
    if at_once >= place.cores:
        settings = {"workers": 0} | settings  # all cores learn: no room for processes that decode ahead
    request = replace(request, settings=settings)
    out = out.expanduser().resolve()
    return TableJob(suite, request, out, out / folder, place, at_once, plan_jobs(suite, request, out))


def show_what_is_left(table: TableJob, console: Console) -> list[str]:
    """Show how far each run is at once, and return lines that say what the rest costs."""
    show(console, states_table(table.jobs))
    count = sum(job.summary is None for job in table.unique)
    console.print(f"{count} runs to do; {free_bytes(table.out) / 1e9:.0f} GB are free", highlight=False)
    return estimate(table.jobs, streams_of(table.jobs)).lines(table.at_once) if count else []


def run_what_is_left(table: TableJob, console: Console) -> list[Failure]:
    """Carry out all runs that are not finished and return those that failed."""
    if all(job.summary is not None for job in table.jobs):
        return []  # neither data nor backbone need be here
    require_clients(name for job in table.jobs if job.summary is None for name in job.config.track)
    with console.status("looking at data and backbone"):
        steps = steps_of(table.jobs)
        check_backbones(table.jobs)
    results = table.results
    keep = None if results is None else lambda job: keep_result(job, results.folder)
    with TableDisplay(console, table.jobs, steps, keep) as display:
        return carry_out(table.jobs, table.at_once, table.place, display, alone=table.suite.alone)


def keep_results(table: TableJob) -> None:
    """Write the files of all finished runs into the results folder, if there is one."""
    if table.results is not None:
        for job in table.unique:
            keep_result(job, table.results.folder)


def make_table(table: TableJob, console: Console, command: str) -> dict[str, Any]:
    """Write and show the table of what is finished, with its figures; return the record of all of it."""
    keep_results(table)
    if table.results is not None:  # the table is that of the files, so that they alone give it again
        table = replace(table, jobs=read_results_folder(table.results.folder).attach(table.jobs))
    results = collect(table.suite, table.request, table.jobs)
    record = write_results(table.folder, results, table.jobs, command)
    figures = draw_figures(table.suite.figures, table.jobs, table.folder)
    drawn = [file for file in figures if file.suffix == ".svg"]
    write_page(table.folder, results, record, drawn)
    if table.results is not None:
        table.results.folder.mkdir(parents=True, exist_ok=True)
        for file in [table.folder / "table.md", table.folder / "table.csv", *figures]:
            if file.suffix != ".svg":
                shutil.copyfile(file, table.results.folder / file.name)
    show(console, *suite_terminal(results))
    return record
