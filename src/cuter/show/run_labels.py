"""What runs are called, and how they look in charts: by what tells them apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuter.learn.recipe import METHODS
from cuter.learn.settings import LearnerSettings
from cuter.runs.config import field_names, flat_settings
from cuter.runs.record import RunRecord, read_record
from cuter.settings import Role, flattened

# What may differ between two runs that should come to the same result, or to that of another seed.
CIRCUMSTANCES = frozenset(field_names(Role.REPEATED))
COLOURS = 7  # as many as the style sheet has for runs
DASHES = 3  # kinds of lines, where there are more runs than colours
LONGEST = 20  # letters of a value in a name
ROOM = 26  # letters of a name, after which settings are only counted


@dataclass(frozen=True, eq=False)
class NamedRun:
    """A run with a name of its own.

    Args:
        record: All that is known of it.
        label: Its name.
        group: The name that it shares with runs that differ in nothing but their seed; they have one colour, too.
        untold: How many settings tell it apart that its name only counts.
        colour: Number of its colour.
        shape: Number of its marker.
        dash: Number of its kind of line.
    """

    record: RunRecord
    label: str
    group: str
    untold: int
    colour: int
    shape: int
    dash: int


def read_runs(folders: Sequence[Path]) -> list[NamedRun]:
    """Read runs, finished or not, each of them once."""
    return named([read_record(folder) for folder in dict.fromkeys(folder.resolve() for folder in folders)])


def named(runs: Sequence[RunRecord]) -> list[NamedRun]:
    """Name runs by their method, by the settings that tell runs of one method apart, and by their seed."""
    settings = [full_settings(run.config) for run in runs]
    keys = [_key(one) for one in settings]
    names = _group_names(settings, keys)
    groups = {key: name for key, (name, _) in names.items()}
    order = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    has_seeds = len({one["seed"] for one in settings}) > 1
    seeds = [f", seed {one['seed']}" if has_seeds else "" for one in settings]
    labels = [groups[key] + seed for key, seed in zip(keys, seeds, strict=True)]
    often = Counter(labels)
    folders = {name: [run.folder for run, label in zip(runs, labels, strict=True) if label == name] for name in often}
    return [
        NamedRun(
            record=run,
            label=label if often[label] == 1 else f"{label}, {_place(run.folder, folders[label])}",
            group=groups[key],
            untold=names[key][1],
            colour=order[key] % COLOURS,
            shape=place,
            dash=order[key] // COLOURS % DASHES,
        )
        for place, (run, key, label) in enumerate(zip(runs, keys, labels, strict=True))
    ]


def full_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a saved configuration with all settings, also those that came after the version that saved it."""
    return flat_settings(config)


def varying(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the fields that do not have the same value in all configurations."""
    fields = dict.fromkeys(field for one in settings for field in one)
    return [field for field in fields if any(one.get(field) != settings[0].get(field) for one in settings)]


def value_text(value: Any) -> str:
    """Spell a value of a configuration as a person would."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={value_text(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(", ".join(map(str, group)) if isinstance(group, list) else str(group) for group in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def shortened(text: str, longest: int) -> str:
    """Return a text without its middle, if it is too long."""
    return text if len(text) <= longest else f"{text[: (longest - 1) // 2]}…{text[len(text) - longest // 2 :]}"


def _place(folder: Path, all_of_them: Sequence[Path]) -> str:
    """Return as much of the end of a path as tells it apart from the others: 'a/rs' beside 'b/rs'."""
    tails = (Path(*folder.parts[-length:]) for length in range(1, len(folder.parts)))
    alone = (tail for tail in tails if sum(one.parts[-len(tail.parts) :] == tail.parts for one in all_of_them) == 1)
    return str(next(alone, folder))


def _key(settings: dict[str, Any]) -> str:
    """Return the same text for all seeds of a configuration."""
    deciding = {field: value for field, value in settings.items() if field not in CIRCUMSTANCES}
    return json.dumps(deciding, sort_keys=True, default=str)


def _group_names(settings: Sequence[dict[str, Any]], keys: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Name each group by its method, and by where it departs from what is usual for it if another one does not.

    With a name comes the number of settings that it leaves out.
    """
    groups = dict(zip(keys, settings, strict=True))
    names: dict[str, tuple[str, int]] = {}
    for key, one in groups.items():
        relatives = [other for other in groups.values() if other["method"] == one["method"]]
        usual = flattened({"learner": _usual(one["method"])})
        fields = [field for field in varying(relatives) if field not in CIRCUMSTANCES]
        names[key] = _with_settings(one, [field for field in fields if one.get(field) != usual.get(field)])
    often = Counter(name for name, _ in names.values())
    return {
        key: (name if often[name] == 1 else f"{name} ({number})", untold)
        for number, (key, (name, untold)) in enumerate(names.items(), start=1)
    }


def _usual(method: str) -> dict[str, Any]:
    """Return the settings of a learner of this method with nothing else chosen."""
    return LearnerSettings(method=method).model_dump(mode="json") if method in METHODS else {}


def _with_settings(settings: dict[str, Any], fields: Sequence[str]) -> tuple[str, int]:
    """Return the method with as many of these settings as a name has room for, at least one, and how many it lacks."""
    name = str(settings["method"])
    for number, field in enumerate(fields):
        more = f"{name}, {field} {_short_value(settings.get(field))}"
        if number and len(more) > ROOM:
            return f"{name} +{len(fields) - number}", len(fields) - number
        name = more
    return name, 0


def _short_value(value: Any) -> str:
    text = value_text(value)
    return shortened(text.rstrip("/").rpartition("/")[2] or text, LONGEST)
