"""The command `cuter sweep`."""

from pathlib import Path
from typing import Annotated

import typer

from cuter.cli.common import console
from cuter.cli.paper import DryRun, Jobs, PrintJson, Ray, execute
from cuter.cli.settings_options import typed_settings


def sweep(
    ctx: typer.Context,
    *,
    grid: Annotated[
        list[str],
        typer.Option(help="FIELD=VALUE,VALUE… of any setting below; repeated, all combinations are tried."),
    ],
    config: Annotated[
        Path | None, typer.Option(help="YAML file with any of the settings; options that are typed win over it.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to N-1 of each combination.")] = 3,
    skip: Annotated[
        list[str] | None, typer.Option(help="Not this row, as the table names it: 'lr 1e-4, memory prs'; repeatable.")
    ] = None,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="Folder for runs and tables; sweeps share runs.")] = Path("runs/sweep"),
    ray: Ray = None,
    dry_run: DryRun = False,
    print_json: PrintJson = False,
) -> None:
    """Try all combinations of some settings over several seeds, and compare them in a table and figures.

    The same command goes on where it stopped, repeats no run that is finished, and tries again what failed. The table
    is in OUT/FIELDS: table.md, table.csv, table.tex, results.json, and how the figures depend on each number. Ends with
    code 1 if a run failed.

    Example:

        cuter sweep --dataset voc --data-root VOCdevkit --backbone dino-vits16 --tasks 5x4 --grid method=rs,cuter
        --grid memory.images=300,1000
    """
    with console.status("loading"):
        from cuter.show.make_table import executor_of, plan_table
        from cuter.tables.sweep import make_sweep, parse_grid

        wanted = make_sweep(parse_grid(grid), config, typed_settings(ctx), seeds, skip or [])
    execute(
        lambda place: plan_table(wanted.suite, wanted.request, out, wanted.suite.name, place=place, at_once=jobs),
        executor_of(wanted.request.device, ray if jobs != 0 else None),
        dry_run,
        print_json,
    )
