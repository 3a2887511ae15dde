"""A suite: the rows of one of the paper's tables, what they have in common, and the published figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from cuter.errors import ConfigError, UnknownNameError
from cuter.registry import did_you_mean
from cuter.settings import validated
from cuter.tables.columns import COLUMNS

SUITES = resources.files("cuter.tables") / "suites"
REPEATS = 5  # of the paper's experiments; their spread is over these
USUAL_SEEDS = 3


class Published(BaseModel):
    """A figure of the paper: mean and standard deviation over its repeats, where it names one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mean: float
    std: float | None = None

    @classmethod
    def parse(cls, text: str) -> Published:
        """Read '75.05 ± 1.28' or '75.05'."""
        found = re.fullmatch(r"(\d+\.\d+)(?: ± (\d+\.\d+))?", text)
        if not found:
            raise ValueError(f"a published figure is like '75.05 ± 1.28', not {text!r}")
        return cls(mean=float(found[1]), std=float(found[2]) if found[2] else None)

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.std is None else f" ± {self.std:.2f}")


class Row(BaseModel):
    """A row of a table: a method and the options that make it this row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    method: str
    kind: Literal["baseline", "ours", "bound"] = "baseline"
    options: dict[str, Any] = {}
    backbone: str | None = None  # by the name that the user gives it, where a table compares backbones
    published: tuple[Published | None, ...] = ()  # in the order of the columns, None where the paper has nothing
    against: tuple[str, ...] | None = None  # rows that the paper compares it with; None: a baseline with the reference

    @field_validator("published", mode="before")
    @classmethod
    def _read_figures(cls, figures: list[str | float | None]) -> list[Published | None]:
        return [None if figure is None else Published.parse(str(figure)) for figure in figures]


class Suite(BaseModel):
    """A table of the paper."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    needs: str
    columns: tuple[str, ...]
    reference: str  # the row that others are compared with
    common: dict[str, Any]
    scales: dict[str, dict[str, Any]]  # settings of a run; and `seeds`, where it is not the usual number
    rows: tuple[Row, ...] = Field(min_length=1)
    figures: tuple[Literal["curves", "balance", "localisation", "dependence", "throughput"], ...] = ()
    alone: bool = False  # one run at a time, because it is their speed that is measured
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _names_mean_something(self) -> Suite:
        names = [row.name for row in self.rows]
        if len(set(names)) < len(names):
            raise ValueError(f"two rows have one name: {', '.join(names)}")
        for name in (self.reference, *(other for row in self.rows for other in row.against or ())):
            if name not in names:
                raise ValueError(f"no row is named {name!r}.{did_you_mean(name, names)}")
        for column in self.columns:
            if column not in COLUMNS:
                raise ValueError(f"unknown column {column!r}.{did_you_mean(column, list(COLUMNS))}")
        for row in self.rows:
            if len(row.published) > len(self.columns):
                raise ValueError(f"row {row.name} has more published figures than the table has columns")
        for scale in self.scales:
            if self.seeds(scale) < 1:
                raise ValueError(f"scale {scale} has {self.seeds(scale)} seeds, but a table needs at least one")
        return self

    def published(self, row: Row, column: str) -> Published | None:
        """Return what the paper has for a row in a column, if anything."""
        return dict(zip(self.columns, row.published, strict=False)).get(column)

    def row(self, name: str) -> Row:
        """Return a row by its name; in other capitals where no row is called just so."""
        names = {row.name.lower(): row for row in self.rows} | {row.name: row for row in self.rows}
        found = names.get(name) or names.get(name.lower())
        if found is None:
            raise UnknownNameError(
                f"{self.name} has no row {name!r}.{did_you_mean(name, [row.name for row in self.rows])}"
            )
        return found

    def chosen(self, only: list[str], skip: list[str]) -> list[Row]:
        """Return the rows that are asked for, in the order of the table."""
        wanted = [self.row(name) for name in only] or list(self.rows)
        refused = [self.row(name) for name in skip]
        rows = [row for row in self.rows if row in wanted and row not in refused]
        if not rows:
            raise ConfigError(f"--only and --skip leave no row of {self.name}")
        return rows

    def for_backbones(self, names: Sequence[str]) -> Suite:
        """Return the rows of these backbones, where the table compares some; one that it lacks gets rows of its own."""
        known = {row.backbone: row for row in self.rows}
        if None in known:
            return self
        model = self.row(self.reference).backbone or ""
        rows = [row for row in self.rows if row.backbone in names]
        for name in names:
            if name not in known:
                rows += [_with_backbone(row, model, name) for row in self.rows if row.backbone == model]
        shown = [row.name for row in rows]
        reference = self.reference if self.reference in shown else shown[0]
        return self.model_copy(update={"rows": tuple(rows), "reference": reference})

    def scale(self, name: str) -> dict[str, Any]:
        """Return the settings that runs of a scale have."""
        return {key: value for key, value in scale_of(self.name, self.scales, name).items() if key != "seeds"}

    def seeds(self, scale: str) -> int:
        """Return how many seeds each row of a scale has if nobody says otherwise."""
        return int(scale_of(self.name, self.scales, scale).get("seeds", USUAL_SEEDS))


def scale_of(suite: str, scales: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the settings of a scale by its name."""
    if name not in scales:
        raise UnknownNameError(f"{suite} has no scale {name!r}.{did_you_mean(name, list(scales))}")
    return scales[name]


def _with_backbone(row: Row, model: str, name: str) -> Row:
    """Return a row with another backbone, of which the paper says nothing."""
    against = tuple(other.replace(model, name) for other in row.against or ())
    return row.model_copy(
        update={"name": row.name.replace(model, name), "backbone": name, "published": (), "against": against}
    )


def suite_names() -> list[str]:
    """Return the names of all suites."""
    return sorted(file.name.removesuffix(".yaml") for file in SUITES.iterdir() if file.name.endswith(".yaml"))


def load_suite(name: str) -> Suite:
    """Read a suite by its name."""
    if name not in suite_names():
        raise UnknownNameError(f"unknown suite {name!r}.{did_you_mean(name, suite_names())}")
    return validated(Suite, {"name": name, **_fields(name)})


def _fields(name: str) -> dict[str, Any]:
    """Read the file of a suite.

    `like` takes over all that another suite has, but for its notes, and `only` names those of its rows that are wanted.
    Published figures go with their columns.
    """
    fields: dict[str, Any] = yaml.safe_load((SUITES / f"{name}.yaml").read_text(encoding="utf-8"))
    if "like" not in fields:
        return fields
    model = _fields(fields.pop("like"))
    only = fields.pop("only", [row["name"] for row in model["rows"]])
    columns = fields.get("columns", model["columns"])
    rows = []
    for row in model["rows"]:
        figures = dict(zip(model["columns"], row.get("published", ()), strict=False))
        published = [figures.get(column) for column in columns]
        if row["name"] in only:
            rows.append(row | {"published": published if any(published) else []})
            if "against" in row:
                rows[-1]["against"] = [name for name in row["against"] if name in only]
    return model | {"rows": rows, "notes": []} | fields
