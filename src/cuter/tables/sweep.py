"""A table of the user's own: a row for each combination of values of some settings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cuter.errors import ConfigError
from cuter.learn.settings import LearnerSettings
from cuter.registry import did_you_mean
from cuter.runs.config import RunConfig, field_names, fields_of
from cuter.settings import Role, TableOption, all_fields, has_role, mark_of, validated
from cuter.tables.jobs import Request
from cuter.tables.suite import Row, Suite

Grid = Mapping[str, Sequence[Any]]

COLUMNS = ("average.map", "last.map", "last.cf1_mean@0.8", "last.of1@0.8", "forgetting")
GIVEN_FOR_ALL = ("data_root", "device")


@dataclass(frozen=True)
class Sweep:
    """What a grid comes to: its table, and what is asked of it."""

    suite: Suite
    request: Request


def parse_grid(pairs: Sequence[str]) -> dict[str, list[Any]]:
    """Read FIELD=VALUE,VALUE…, each value as YAML would."""
    grid: dict[str, list[Any]] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        field = name.strip().replace("-", "_")
        try:
            values = yaml.safe_load(f"[{text}]")
        except yaml.YAMLError as error:
            raise ConfigError(f"--grid {pair!r}: {error}") from None
        if not values:
            raise ConfigError(f"--grid {pair!r} must be FIELD=VALUE,VALUE…, as in --grid lr=1e-5,1e-4")
        if field in grid:
            raise ConfigError(f"--grid {field} is given twice: name all its values in one")
        if reason := _not_in_a_grid().get(field):
            raise ConfigError(f"--grid {field}: {reason}")
        if field not in field_names():
            raise ConfigError(f"--grid {pair!r}: no setting is named {field!r}.{did_you_mean(field, fields())}")
        grid[field] = list({str(value): value for value in values}.values())
    if not grid:
        raise ConfigError("a sweep needs at least one --grid FIELD=VALUE,VALUE…")
    return grid


def _not_in_a_grid() -> dict[str, str]:
    """Return the settings that no grid can have, each with the reason; those of parts that came late are among them."""
    found = {}
    for name, field in all_fields(RunConfig):
        option = mark_of(field, TableOption)
        if has_role(field, Role.EXECUTION):
            found[name] = "it decides no result"
        elif option is not None and option.not_in_grid:
            found[name] = option.not_in_grid
    return found


def fields() -> list[str]:
    """Return all settings that may be in a grid."""
    return [name for name in field_names() if name not in _not_in_a_grid()]


def make_sweep(grid: Grid, config: Path | None, typed: Mapping[str, Any], seeds: int, skip: Sequence[str]) -> Sweep:
    """Make a table of all combinations; what is typed goes before the file, and the grid before both."""
    if "seed" in typed:
        raise ConfigError(f"--seed: {_not_in_a_grid()['seed']}")
    rows: list[Row] = []
    backbones: dict[str, str] = {}
    places: dict[str, Any] = {}
    for values in itertools.product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        settings = fields_of(config, {**typed, **cell})
        learner = dict(settings.get("learner", {}))
        learner.pop("seed", None)
        method = learner.pop("method", LearnerSettings.model_fields["method"].default)
        settings["learner"] = learner
        places |= {name: settings.pop(name, None) for name in GIVEN_FOR_ALL}
        if "backbone" not in settings:
            raise ConfigError("name a --backbone, here, in --config or in a --grid")
        backbone = str(settings.pop("backbone"))
        label = backbone if "backbone" in grid else None
        backbones[label or ""] = backbone
        name = ", ".join(f"{field} {value}" for field, value in cell.items())
        rows.append(Row(name=name, method=method, options=settings, backbone=label))
    table = {
        "name": "-".join(grid),
        "title": f"sweep over {', '.join(grid)}",
        "needs": "",
        "columns": COLUMNS,
        "reference": next((row.name for row in rows if row.name not in skip), rows[0].name),
        "common": {},
        "scales": {"full": {}},
        "rows": rows,
        "figures": ("dependence", "curves"),
    }
    root = None if places["data_root"] is None else Path(places["data_root"])  # an option or a file gives its text
    request = Request(root, backbones, seeds=seeds, skip=tuple(skip), device=places["device"] or "auto")
    return Sweep(validated(Suite, table), request)
