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
from cuter.show.table_display import PaperDisplay, states_table
from cuter.show.table_folder import write_results
from cuter.show.table_formats import terminal
from cuter.show.table_page import render
from cuter.storage import write_text
from cuter.tables.estimate import estimate, free_bytes
from cuter.tables.execute.execute import Executor, Failure, carry_out
from cuter.tables.execute.local import ThisMachine
from cuter.tables.jobs import Job, Request, parse_backbones, plan_jobs
from cuter.tables.results import collect
from cuter.tables.results_folder import ResultsFolder, keep_result, read_results_folder
from cuter.tables.streams import check_backbones, steps_of, streams_of
from cuter.tables.suite import Suite, load_suite


@dataclass(frozen=True)
class Order:
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


def place_of(device: str, address: str | None) -> AbstractContextManager[Executor]:
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
) -> Order:
    """Check what is asked of one of the paper's tables and tell which runs it is made of; nothing is written.

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
    made = order(suite, request, out, f"{name}-{request.scale}", place=place, at_once=at_once)
    return made if kept is None else replace(made, jobs=kept.attach(made.jobs), results=kept)


def order(suite: Suite, request: Request, out: Path, folder: str, *, place: Executor, at_once: int | None) -> Order:
    """Tell which runs a table is made of; `folder` under `out` is for the table itself."""
    if at_once is None:
        at_once = 1 if suite.alone else place.room
    if suite.alone and at_once > 1:
        raise ConfigError(f"{suite.name} measures speed: its runs are carried out one at a time, not --jobs {at_once}")
    settings = dict(request.settings)
    if at_once >= place.cores:
        settings = {"workers": 0} | settings  # all cores learn: no room for processes that decode ahead
    request = replace(request, settings=settings)
    out = out.expanduser().resolve()
    return Order(suite, request, out, out / folder, place, at_once, plan_jobs(suite, request, out))


def tell_what_is_left(order: Order, console: Console) -> list[str]:
    """Show how far each run is at once, and return lines that say what the rest costs."""
    show(console, states_table(order.jobs))
    count = sum(job.summary is None for job in order.unique)
    console.print(f"{count} runs to do; {free_bytes(order.out) / 1e9:.0f} GB are free", highlight=False)
    return estimate(order.jobs, streams_of(order.jobs)).lines(order.at_once) if count else []


def run_what_is_left(order: Order, console: Console) -> list[Failure]:
    """Carry out all runs that are not finished and return those that failed."""
    if all(job.summary is not None for job in order.jobs):
        return []  # neither data nor backbone need be here
    require_clients(name for job in order.jobs if job.summary is None for name in job.config.track)
    with console.status("looking at data and backbone"):
        steps = steps_of(order.jobs)
        check_backbones(order.jobs)
    results = order.results
    keep = None if results is None else lambda job: keep_result(job, results.folder)
    with PaperDisplay(console, order.jobs, steps, keep) as display:
        return carry_out(order.jobs, order.at_once, order.place, display, alone=order.suite.alone)


def keep_results(order: Order) -> None:
    """Write the files of all finished runs into the results folder, if there is one."""
    if order.results is not None:
        for job in order.unique:
            keep_result(job, order.results.folder)


def make_table(order: Order, console: Console, command: str) -> dict[str, Any]:
    """Write and show the table of what is finished, with its figures; return the record of all of it."""
    keep_results(order)
    if order.results is not None:  # the table is that of the files, so that they alone give it again
        order = replace(order, jobs=read_results_folder(order.results.folder).attach(order.jobs))
    results = collect(order.suite, order.request, order.jobs)
    record = write_results(order.folder, results, order.jobs, command)
    figures = draw_figures(order.suite.figures, order.jobs, order.folder)
    drawn = [file for file in figures if file.suffix == ".svg"]
    write_text(order.folder / "report.html", render(results, record, drawn))
    if order.results is not None:
        order.results.folder.mkdir(parents=True, exist_ok=True)
        for file in [order.folder / "table.md", order.folder / "table.csv", *figures]:
            if file.suffix != ".svg":
                shutil.copyfile(file, order.results.folder / file.name)
    show(console, *terminal(results))
    return record
