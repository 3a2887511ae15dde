"""Settings as they were saved before each part had its own: one flat list of fields (format 3 of saved learners)."""

from collections.abc import Mapping
from typing import Any

from cuter.learn.renamed import FIELDS, PARTS, UNCHANGED
from cuter.learn.settings import LearnerSettings
from cuter.settings import registry_of


def is_flat(values: Mapping[str, Any]) -> bool:
    """Return whether settings are of the flat form."""
    return any(name in values for name in FIELDS)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return flat settings of a learner, perhaps with other fields beside them, in the form of today."""
    settings = {name: values[name] for name in UNCHANGED if name in values}
    for old, new in PARTS.items():
        if old in values and (new != "keeper.selection" or values.get("keeper") == "cut-outs"):
            _put(settings, new, {"kind": values[old]})
    if (name := values.get("localiser", "learner")) not in ("learner", "pretrained"):
        settings["localiser"] = {"kind": "backbone", "name": name}
    for old, new in FIELDS.items():
        if old in values and values[old] is not None and _has(settings, new):
            _put(settings, new, values[old])
    if settings.get("teacher", {}).get("rate") == 1.4 / 20:
        settings["teacher"]["rate"] = 0.07  # the default, as it is written today
    others = {name: value for name, value in values.items() if name not in {*UNCHANGED, *PARTS, *FIELDS, "shown"}}
    scope = {"task_scope": values["shown"]} if "shown" in values else {}
    return settings | others | scope


def _has(settings: Mapping[str, Any], path: str) -> bool:
    """Return whether the chosen part has the field at the end of a path."""
    model: Any = LearnerSettings
    *parts, field = path.split(".")
    for part in parts:
        registry = registry_of(model.model_fields.get(part))
        if registry is None:
            return False
        settings = settings.get(part, {})
        model = registry.settings_of(settings.get("kind") or model.model_fields[part].default)
    return field in model.model_fields


def _put(settings: dict[str, Any], path: str, value: Any) -> None:
    first, _, rest = path.partition(".")
    if rest:
        _put(settings.setdefault(first, {}), rest, value)
    elif isinstance(value, dict):
        settings[first] = value | settings.get(first, {})
    else:
        settings[first] = value
