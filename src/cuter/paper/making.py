"""From a name to a table: what is asked for is checked first, then carried out, then written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from cuter.paper.carry_out import Failure, Place, carry_out
from cuter.paper.display import PaperDisplay
from cuter.paper.estimate import estimate, free_bytes, states_table
from cuter.paper.jobs import Job, Request, parse_backbones, plan_jobs
from cuter.paper.record import write_results
from cuter.paper.results import collect
from cuter.paper.streams import check_backbones, steps_of
from cuter.paper.suite import Suite, load_suite
from cuter.paper.tables import terminal
from cuter.paper.this_machine import ThisMachine


@dataclass(frozen=True)
class Order:
    """A table that was asked for, with all its runs."""

    suite: Suite
    request: Request
    out: Path
    at_once: int
    jobs: list[Job]

    @property
    def unique(self) -> list[Job]:
        """The runs, each once: rows may share one."""
        return list({job.folder: job for job in self.jobs}.values())


def place_of(device: str, address: str | None) -> AbstractContextManager[Place]:
    """Return where runs are carried out: on the Ray cluster at an address, or on this machine."""
    if address is None:
        return nullcontext(ThisMachine(device))
    from cuter.paper.ray_cluster import ray_cluster  # here, because not everybody has Ray

    return ray_cluster(address, device)


def prepare(
    name: str, request: Request, backbones: Sequence[str], out: Path, *, place: Place, at_once: int | None
) -> Order:
    """Check what is asked for and tell which runs it is made of; nothing is written."""
    suite = load_suite(name)
    named = parse_backbones(backbones, suite)
    suite = suite.for_backbones(list(named))
    at_once = place.room if at_once is None else at_once
    settings = dict(request.settings)
    if at_once >= place.cores:
        settings = {"workers": 0} | settings  # all cores learn: no room for processes that decode ahead
    request = replace(request, backbones=named, settings=settings)
    out = out.expanduser().resolve()
    return Order(suite, request, out, at_once, plan_jobs(suite, request, out))


def tell_what_is_left(order: Order, console: Console) -> list[str]:
    """Show how far each run is, and return lines that tell what the rest costs."""
    steps = dict(zip((job.folder for job in order.jobs), steps_of(order.jobs), strict=True))
    console.print(states_table(order.jobs, steps))
    return estimate(order.jobs, steps).lines(order.at_once, free_bytes(order.out))


def run_what_is_left(order: Order, place: Place, console: Console) -> list[Failure]:
    """Carry out all runs that are not finished and return those that failed."""
    with console.status("looking at data and backbone"):
        steps = steps_of(order.jobs)
        check_backbones(order.jobs)
    with PaperDisplay(console, order.jobs, steps) as display:
        return carry_out(order.jobs, order.at_once, place, display)


def make_table(order: Order, console: Console, command: str) -> tuple[Path, dict[str, Any]]:
    """Write and show the table of what is finished; return its folder and the record of all figures."""
    results = collect(order.suite, order.request, order.jobs)
    folder = order.out / f"{order.suite.name}-{order.request.scale}"
    record = write_results(folder, results, order.jobs, command)
    for table in terminal(results):
        console.print(table)
    return folder, record
