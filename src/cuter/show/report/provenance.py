"""How the runs were made: where their settings and surroundings differ, and what they had to skip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from cuter.show.run_labels import NamedRun, full_settings, shortened, value_text, varying
from cuter.show.table import NOTHING, Table, plain_table

LONGEST = 90  # letters of a value
MOST_SKIPPED = 50


def differing_settings(runs: Sequence[NamedRun]) -> Table:
    """Return the settings that are not the same in all runs."""
    configs = [full_settings(run.record.config) for run in runs]
    return value_table([run.label for run in runs], varying(configs), configs)


def surroundings(runs: Sequence[NamedRun]) -> Table:
    """Return versions and hardware, once if they are the same for all runs."""
    found = [flat(run.record.environment) for run in runs]
    labels = [run.label for run in runs]
    if not varying(found):
        labels, found = ["all runs"], found[:1]
    return value_table(labels, list(dict.fromkeys(name for one in found for name in one)), found)


def value_table(labels: Sequence[str], names: Sequence[str], sources: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row per name and a column per source of values."""
    rows = [[name, *(_shown(one, name) for one in sources)] for name in names]
    return plain_table(["", *labels], rows, text_columns=1 + len(labels), keeps_names=True)


def config_text(run: NamedRun) -> str:
    """Return the whole configuration as YAML."""
    return yaml.safe_dump(dict(run.record.config), sort_keys=False, allow_unicode=True, width=120)


def skipped(run: NamedRun) -> tuple[int, list[str]]:
    """Return how many images could not be read, and why not, for the first of them."""
    return len(run.record.skipped), list(run.record.skipped.values())[:MOST_SKIPPED]


def _shown(source: Mapping[str, Any], key: str) -> str:
    """Spell a value that may be missing."""
    return shortened(value_text(source[key]), LONGEST) if key in source else NOTHING


def flat(environment: dict[str, Any]) -> dict[str, Any]:
    """Return versions of libraries and all else on one level."""
    libraries = environment.get("libraries")
    plain = {name: value for name, value in environment.items() if name != "libraries"}
    return (libraries if isinstance(libraries, dict) else {}) | plain
