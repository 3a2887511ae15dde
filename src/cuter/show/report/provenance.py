"""How the runs were made: where their settings and surroundings differ, and what they had to skip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from cuter.show.run_labels import NamedRun, shortened, value_text, varying

LONGEST = 90  # letters of a value
MOST_SKIPPED = 50


@dataclass(frozen=True)
class Facts:
    """Rows of values, one for each run; a single column where all runs agree."""

    agree: bool
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def differing_settings(runs: Sequence[NamedRun]) -> Facts:
    """Return the settings that are not the same in all runs."""
    configs = [run.record.config for run in runs]
    return Facts(False, tuple((field, _values(field, configs)) for field in varying(configs)))


def surroundings(runs: Sequence[NamedRun]) -> Facts:
    """Return versions and hardware, once if they are the same for all runs."""
    found = [flat(run.record.environment) for run in runs]
    agree = not varying(found)
    columns = found[:1] if agree else found
    names = dict.fromkeys(name for one in columns for name in one)
    return Facts(agree, tuple((name, _values(name, columns)) for name in names))


def config_text(run: NamedRun) -> str:
    """Return the whole configuration as YAML."""
    return yaml.safe_dump(dict(run.record.config), sort_keys=False, allow_unicode=True, width=120)


def skipped(run: NamedRun) -> tuple[int, list[str]]:
    """Return how many images could not be read, and why not, for the first of them."""
    return len(run.record.skipped), list(run.record.skipped.values())[:MOST_SKIPPED]


def shown(source: Mapping[str, Any], key: str) -> str:
    """Spell a value that may be missing."""
    return shortened(value_text(source[key]), LONGEST) if key in source else "–"


def _values(field: str, sources: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(shown(one, field) for one in sources)


def flat(environment: dict[str, Any]) -> dict[str, Any]:
    """Return versions of libraries and all else on one level."""
    libraries = environment.get("libraries")
    plain = {name: value for name, value in environment.items() if name != "libraries"}
    return (libraries if isinstance(libraries, dict) else {}) | plain
