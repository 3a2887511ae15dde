"""The command `cuter paper`. Heavy libraries are imported inside, so that --help answers at once."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuter.cli.common import Imports, console, say
from cuter.errors import ConfigError, UnknownNameError
from cuter.registry import did_you_mean
from cuter.settings import flattened
from cuter.show.narrow import show
from cuter.show.progress_line import counting

if TYPE_CHECKING:
    from cuter.show.assessment_table import Assessed
    from cuter.show.make_table import TableJob
    from cuter.tables.execute.execute import Executor, Failure


# Options of all commands that make tables.
Jobs = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Runs at a time; they share the cores. 0: only the table of what is finished.",
        show_default="number of cores; 1 on a GPU",
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Carry out the runs on the Ray cluster at this address, as many at a time as it has CPUs or GPUs: "
        "auto or HOST:PORT on one of its nodes, ray://HOST:10001 elsewhere. Needs the extra 'ray'; "
        "docs/how-to/paper-tables.md has the requirements of the nodes.",
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would run, how long, and how much disk.")]
PrintJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def paper(
    name: Annotated[str | None, typer.Argument(help="Table; --list shows which there are.", show_default=False)] = None,
    *,
    list_suites: Annotated[bool, typer.Option("--list", help="List the tables and what they need.")] = False,
    data_root: Annotated[Path | None, typer.Option(help="Folder that holds the table's data set.")] = None,
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            help="Short name, hub id, local folder or checkpoint file. NAME=BACKBONE, repeated, for a table that "
            "compares backbones."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for runs and tables; tables share runs.")] = Path("runs/paper"),
    scale: Annotated[
        str,
        typer.Option(
            help="full; small, and in most tables medium: fewer images and a smaller memory. Small takes two cores "
            "less than an hour."
        ),
    ] = "full",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds 0 to N-1 of each row.", show_default="3, for most small tables 1"),
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only this row; may be repeated.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="Not this row; may be repeated.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="FIELD=VALUE, a setting of 'cuter run' for all rows but those made by it; may be repeated."
        ),
    ] = None,
    imports: Imports = None,
    jobs: Jobs = None,
    ray: Ray = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to commit, as docs/results/voc-full: each finished run leaves a small JSON file there, and "
            "counts as finished wherever the folder is; table.md, table.csv and the figures are copied to it.",
            show_default=False,
        ),
    ] = None,
    dry_run: DryRun = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, mps, or auto.")] = "auto",
    print_json: PrintJson = False,
) -> None:
    """Carry out all runs of a table of the paper and make the table, published figures beside ours.

    The same command goes on where it stopped, repeats no run that is finished, and tries again what failed. Tables
    with the same --out share runs. The table is in OUT/NAME-SCALE: table.md, table.csv, table.tex and results.json.
    Ends with code 1 if a run failed.

    Example:

        cuter paper voc --data-root VOCdevkit --backbone dino-vits16 --scale small
    """
    if list_suites:
        _list()
        return
    if name is None:
        raise ConfigError("name a table; 'cuter paper --list' shows which there are")
    with console.status("loading"):
        from cuter.show.assessment_table import assessment_names, prepare_assessment
        from cuter.show.make_table import executor_of, prepare
        from cuter.tables.jobs import Request, parse_settings
        from cuter.tables.suite import load_suite, suite_names

        known = sorted([*suite_names(), *assessment_names()])
        if name not in known:
            raise UnknownNameError(f"unknown suite {name!r}.{did_you_mean(name, known)}")
        assessed = name in assessment_names()
        if assessed and seeds is not None:
            raise ConfigError(f"{name} learns nothing: --seeds has no effect; --set seed={seeds} draws other images")
        if assessed and results:
            raise ConfigError(f"{name} learns nothing, so no run is finished: --results has no effect")
        if assessed and (jobs or ray):
            raise ConfigError(f"{name} looks at one backbone after the other, here: --jobs and --ray have no effect")
        if assessed and imports:
            raise ConfigError(f"{name} learns nothing: --import has no effect")
        seeds = seeds or (1 if assessed else load_suite(name).seeds(scale))
        wanted = parse_settings(settings or []) | ({"imports": imports} if imports else {})
        request = Request(data_root, {}, scale, seeds, tuple(only or ()), tuple(skip or ()), wanted, device)
        asked = prepare_assessment(name, request, backbone or [], out) if assessed else None
    if asked is not None:
        execute_assessment(asked, print_json, dry_run=dry_run, only_table=jobs == 0)
        return

    def find_runs(place: Executor) -> TableJob:
        table = prepare(name, request, backbone or [], out, place=place, at_once=jobs, results=results)
        _tell_what_is_not_set(table)
        for line in table.results.lines(table.jobs) if table.results else ():
            say(line)
        return table

    execute(find_runs, executor_of(device, ray if jobs != 0 else None), dry_run, print_json)


def execute(
    find_runs: Callable[[Executor], TableJob], where: AbstractContextManager[Executor], dry_run: bool, print_json: bool
) -> None:
    """Carry out what is asked for and make the table, or only show what it would cost."""
    from cuter.runs.stopping import Interrupted
    from cuter.show import make_table as making

    with where as place:
        with console.status("loading"):
            table = find_runs(place)
        if dry_run:
            for line in making.show_what_is_left(table, console):
                say(line)
            return
        making.keep_results(table)  # before hours are spent: a file that says something else is an error
        try:
            failures = making.run_what_is_left(table, console) if table.at_once else []
        except Interrupted:
            done = sum(job.summary is not None for job in table.unique)
            say(f"Stopped with {done} of {len(table.unique)} runs finished. Go on with:  {_command()}")
            raise typer.Exit(130) from None
    record = making.make_table(table, console, _portable_command())
    say(f"The table is in {table.folder}")
    if print_json:
        typer.echo(json.dumps(record))
    _report(failures)
    if failures:
        raise typer.Exit(1)


def execute_assessment(asked: Assessed, print_json: bool, *, dry_run: bool, only_table: bool) -> None:
    """Assess what is not assessed yet and make table and figure; or the table alone; or only show what is left."""
    from cuter.show.assess_report import assessment_table
    from cuter.show.assessment_table import carry_out_assessment, write_assessment

    if dry_run:
        for backbone in asked.backbones:
            say(f"{backbone}: {'to do' if asked.finished(backbone) is None else 'finished'}")
        return
    if not only_table:
        try:
            with counting(console, "assessing") as progress:
                carry_out_assessment(asked, progress, say)
        except KeyboardInterrupt:
            say(f"Stopped. Go on with:  {_command()}")
            raise typer.Exit(130) from None
    report = write_assessment(asked, _command())
    if report is not None:
        show(console, assessment_table(report))
        say(f"Table and figure are in {asked.folder}")
        if print_json:
            typer.echo(json.dumps(report))


def _list() -> None:
    with console.status("loading"):
        from cuter.show.assessment_table import assessment_names, load_assessment
        from cuter.tables.suite import load_suite, suite_names

        found = {}
        for name in suite_names():
            suite = load_suite(name)
            scales = ", ".join(f"{scale} × {suite.seeds(scale)}" for scale in suite.scales)
            size = f"{len(suite.rows)} rows; scales and seeds: {scales}"
            found[name] = (suite.title, size, suite.needs)
        for name in assessment_names():
            what = load_assessment(name)
            found[name] = (what.title, f"{what.images} images, nothing is learned", what.needs)
    width = max(map(len, found)) + 2
    for name, (title, size, needs) in sorted(found.items()):
        typer.echo(f"{name:{width}}{title}")
        typer.echo(f"{'':{width}}{size}")
        typer.echo(f"{'':{width}}needs {needs}")


def _report(failures: list[Failure]) -> None:
    for failure in failures:
        console.print(f"[bold red]failed:[/] {failure.job.name}, code {failure.code}", highlight=False)
        say(f"  run {failure.job.folder}")
        say(f"  log {failure.job.file('log')}, its end:")
        for line in failure.lines:
            say(f"    {line}")
    if failures:
        say(f"{len(failures)} runs failed. To try them again:  {_command()}")


def _tell_what_is_not_set(table: TableJob) -> None:
    for row in {job.row.name: job.row for job in table.jobs}.values():
        if kept := sorted(flattened(row.options).keys() & flattened(table.request.settings).keys()):
            say(f"{row.name} keeps its own {', '.join(kept)}, whatever --set says")


def _command() -> str:
    return shlex.join(["cuter", *sys.argv[1:]])


def _portable_command() -> str:
    """Return the command with the last names of paths from the root: what a table says is read elsewhere."""
    pairs = [argument.rpartition("=") for argument in sys.argv[1:]]
    return shlex.join(
        [
            "cuter",
            *(
                name + equals + (Path(value).name if Path(value).is_absolute() else value)
                for name, equals, value in pairs
            ),
        ]
    )
