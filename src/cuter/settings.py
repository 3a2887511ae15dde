"""Settings made of parts: each part owns its settings, and is chosen by name.

A field that holds the settings of a part may be given as the name of the part ('prs'), as a mapping with its name under
'kind' ({'kind': 'prs', 'power': 0.1}), or field by field with a dot ({'memory.power': 0.1}).
"""

from __future__ import annotations

import importlib
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator
from pydantic.fields import FieldInfo

from cuter.errors import ConfigError
from cuter.registry import Registry, did_you_mean

Model = TypeVar("Model", bound=BaseModel)
AnySettings = TypeVar("AnySettings", bound="Settings")
Mark = TypeVar("Mark")

SAVED = {"saved": True}  # validation context of settings that were saved with all fields that there were


class Role(Enum):
    """What a field is, beside its type; a field names its roles in its annotation."""

    COMMON = "shown by --help, not only by --help-all"
    EXECUTION = "how work is carried out: it decides no result"
    PLACE = "a file or folder, or the name of something that is none"
    DATA = "decides which images there are"
    STREAM = "decides how many images and steps there are"
    TESTED = "decides which images and classes are tested"
    RESUMABLE = "may change when a run goes on"
    REPEATED = "differs between repetitions that should come to the same result, up to chance"


def mark_of(field: FieldInfo, mark: type[Mark]) -> Mark | None:
    """Return the mark of a kind, as `TableOption`, that a field has in its annotation."""
    return next((one for one in field.metadata if isinstance(one, mark)), None)


def has_role(field: FieldInfo, role: Role) -> bool:
    """Return whether a field has a role."""
    return role in field.metadata


class Settings(BaseModel):
    """Settings, some of which may be those of exchangeable parts (`Part`)."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)
    renamed: ClassVar[Mapping[str, str]] = {}  # fields that have another name today

    @classmethod
    def prepared(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Bring values into the form in which every part has its fields in a mapping."""
        return expanded(cls, values)

    @classmethod
    def completed(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Add what other values imply. Not called for settings that were saved, which are complete."""
        return values

    @model_validator(mode="before")
    @classmethod
    def _build_parts(cls, values: Any, info: ValidationInfo) -> Any:
        if not isinstance(values, Mapping):
            return values
        is_saved = info.context == SAVED
        values = cls.prepared(values)
        values = values if is_saved else cls.completed(values)
        for name, field in cls.model_fields.items():
            if (registry := registry_of(field)) is not None:
                values[name] = _built(registry, name, field, values.get(name, field.default), info.context)
        return values

    def with_fields(self, **changes: Any) -> Self:
        """Return a copy in which some fields have other values, checked."""
        return validated(type(self), {**dict(self), **changes}, saved=True)


class PartSettings(Settings):
    """Settings of a part; `kind` is its name."""

    kind: str = ""

    def check(self, learner: Any) -> None:
        """Raise `ValueError` where the part contradicts the other settings of a learner."""


@dataclass(frozen=True, eq=False)
class Part:
    """Marks a field that holds the settings of a part; `registry` has the choices."""

    registry: Registry[Any]


@dataclass(frozen=True, eq=False)
class Choices:
    """Marks a field that holds one of the names of a registry, so that its help can list them."""

    registry: Registry[Any]


@dataclass(frozen=True)
class TableOption:
    """Marks a field that the commands for tables take by an option of their own.

    Args:
        name: The option, as "--seeds".
        not_in_grid: Why a sweep cannot have a grid of the field; empty if it can.
    """

    name: str
    not_in_grid: str = ""


def kind(default: str, description: str) -> Any:
    """Return the field of a part: its settings, by default those of the part named `default`."""
    return Field(default=default, description=description)


def registry_of(field: FieldInfo | None) -> Registry[Any] | None:
    """Return where the choices of a field are; None if it is no part."""
    found = mark_of(field, Part) if field else None
    return found.registry if found else None


def expanded(model: type[Settings], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in which 'memory.power' is the field 'power' of 'memory'; names may be spelled with hyphens."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        first, dot, rest = str(name).partition(".")
        first = first.replace("-", "_")
        if not dot and first not in result:
            result[first] = value
            continue
        before, after = result.get(first, {}), {rest: value} if dot else value
        if registry := registry_of(model.model_fields.get(first)):
            before, after = (_as_mapping(registry, first, one) for one in (before, after))
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            raise ConfigError(f"{first} has no fields, so {name} cannot be set")
        result[first] = {**before, **after}
    return result


def merged(model: type[Settings], base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `base`, with those of `over` in their place, field by field also inside of parts.

    Where `over` chooses another part than `base`, only what all parts of its kind have stays of the part before.
    """
    result, over = expanded(model, base), expanded(model, over)
    for name, value in over.items():
        field = model.model_fields.get(name)
        registry = registry_of(field)
        if registry is None or field is None or name not in result or isinstance(value, BaseModel):
            inner = _inner(field)
            both = isinstance(value, Mapping) and isinstance(result.get(name), Mapping)
            result[name] = merged(inner, result[name], value) if inner is not None and both else value
            continue
        before, after = (_as_mapping(registry, name, one) for one in (result[name], value))
        chosen = after.get("kind", before.get("kind", str(field.default)))
        if "kind" in after and "kind" in before and after["kind"] != before["kind"]:
            before = {key: one for key, one in before.items() if key in registry.settings.model_fields}
        result[name] = merged(registry.settings_of(chosen), before, after)
    return result


def without(values: Mapping[str, Any], usual: Settings) -> dict[str, Any]:
    """Return values without those that are as `usual`, field by field also inside of parts."""
    left: dict[str, Any] = {}
    for name, value in values.items():
        known = getattr(usual, name, None)
        if isinstance(known, Settings) and isinstance(value, Mapping):
            if value.get("kind", "") != getattr(known, "kind", ""):
                left[name] = dict(value)
            elif inner := without(value, known):
                left[name] = inner
        elif not hasattr(usual, name) or value != usual.model_dump(mode="json", include={name})[name]:
            left[name] = value
    return left


def flattened(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values with dotted names: {'memory': {'kind': 'prs'}} is {'memory': 'prs'}.

    The fields of a learner inside of a run have the names that they have on the command line: without 'learner.'.
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and ("kind" in value or name == "learner"):
            flat |= flattened(value, "" if name == "learner" else f"{prefix}{name}.")
        elif name == "kind" and prefix:
            flat[prefix[:-1]] = value
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def all_fields(model: type[Settings], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields of settings and of all parts that can be chosen, each once, by their dotted names."""
    seen = set()
    for name, field in model.model_fields.items():
        registry, inner = registry_of(field), _inner(field)
        if inner is not None and registry is None:
            yield from all_fields(inner, prefix)
            continue
        if name != "kind":
            yield f"{prefix}{name}", field
        for kind in registry or ():
            for dotted, own in all_fields(registry.settings_of(kind), f"{prefix}{name}.") if registry else ():
                if dotted not in seen:
                    seen.add(dotted)
                    yield dotted, own


def leaves(settings: Settings, prefix: str = "") -> Iterator[tuple[str, FieldInfo, Any]]:
    """Yield all fields that are no parts themselves, also those of parts: dotted name, field and value."""
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if isinstance(value, Settings):
            yield from leaves(value, "" if name == "learner" else f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field, value


def mapped(settings: AnySettings, change: typing.Callable[[FieldInfo, Any], Any]) -> AnySettings:
    """Return settings in which `change` was applied to every field that is no part, also to those of parts."""
    changes = {
        name: mapped(value, change) if isinstance(value := getattr(settings, name), Settings) else change(field, value)
        for name, field in type(settings).model_fields.items()
    }
    return settings.model_copy(update=changes)


def import_modules(names: Any) -> None:
    """Import modules that add parts. One that is not installed may lie in the working folder.

    Raises:
        ConfigError: This is no list of names, or a module cannot be imported; the message says which one, and why.
    """
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"imports: a list of names of modules, not {names!r}")
    folder = str(Path.cwd())
    for name in names:
        if folder not in sys.path:
            sys.path.append(folder)
        importlib.invalidate_caches()  # the file may be younger than this process
        try:
            importlib.import_module(name)
        except Exception as error:
            is_missing = isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]
            reason = f"it is neither installed nor in {folder}" if is_missing else f"{type(error).__name__}: {error}"
            raise ConfigError(f"the module {name!r}, which adds parts, cannot be imported: {reason}") from error


def validated(model: type[Model], values: Mapping[str, Any], *, saved: bool = False) -> Model:
    """Build settings from values.

    Args:
        model: Class of the settings.
        values: Values by field.
        saved: Whether the values were saved with all fields that there were at the time. A field that came later then
            has its default, which is what was done before it came, whatever a method chooses today.

    Raises:
        ConfigError: A field is unknown, missing, or out of range; the message names it and what is accepted.
    """
    try:
        return model.model_validate(dict(values), context=SAVED if saved else None)
    except ValidationError as error:
        raise _SettingsError(_findings(model, error)) from None


@dataclass(frozen=True)
class _Finding:
    """A mistake: text before and after the name of the field."""

    field: str
    before: str
    after: str

    def __str__(self) -> str:
        name = self.field.removeprefix("learner.")
        return f"{self.before}{name[:-1]}: {self.after}" if name.endswith(".") else f"{self.before}{name}{self.after}"


class _SettingsError(ConfigError):
    def __init__(self, findings: Sequence[_Finding]):
        super().__init__("; ".join(map(str, findings)))
        self.findings = findings


def _built(registry: Registry[Any], name: str, field: FieldInfo, value: Any, context: Any) -> Any:
    """Return the settings of a part."""
    if isinstance(value, PartSettings) and value.kind:
        return value
    values = _as_mapping(registry, name, value)
    chosen = str(values.get("kind") or field.default)
    model = registry.settings_of(chosen)
    try:
        return model.model_validate({**values, "kind": chosen}, context=context)
    except ValidationError as error:
        findings = _findings(model, error, registry, chosen)
    except _SettingsError as error:
        findings = list(error.findings)
    raise _SettingsError([replace(one, field=f"{name}.{one.field}") for one in findings])


def _as_mapping(registry: Registry[Any], name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, PartSettings):
        return dict(value)
    if isinstance(value, str):
        return {"kind": value}
    if isinstance(value, Mapping):
        return {str(key).replace("-", "_"): one for key, one in value.items()}
    accepted = ", ".join(registry)
    raise ConfigError(
        f"{name}: the {registry.kind} by name, or as a mapping with 'kind', not {value!r}. Names: {accepted}"
    )


def _inner(field: FieldInfo | None) -> type[Settings] | None:
    kind = field.annotation if field else None
    return kind if isinstance(kind, type) and issubclass(kind, Settings) else None


def _findings(
    model: type[BaseModel], error: ValidationError, registry: Registry[Any] | None = None, chosen: str = ""
) -> list[_Finding]:
    return [_explain(model, finding, registry, chosen) for finding in error.errors()]


def _explain(model: type[BaseModel], finding: Any, registry: Registry[Any] | None, chosen: str) -> _Finding:
    field = ".".join(str(one) for one in finding["loc"])
    owner = model
    for name in finding["loc"][:-1]:
        owner = _inner(owner.model_fields.get(str(name))) or owner
    if finding["type"] == "extra_forbidden":
        name = str(finding["loc"][-1])
        if issubclass(owner, Settings) and name in owner.renamed:
            return _Finding(field, "unknown setting ", f": it is {owner.renamed[name]} now")
        names = sorted(_own_names(owner))
        accepted = did_you_mean(name, names) if names else " It has none."
        others = [one for one in registry or () if registry and name in registry.settings_of(one).model_fields]
        whose = f" of the {registry.kind} {chosen!r}" if registry else ""
        has = f" It is a setting of: {', '.join(others)}." if others else ""
        return _Finding(field, "unknown setting ", f"{whose}.{has}{accepted}")
    if finding["type"] == "missing":
        return _Finding(field, "", f" is needed: {owner.model_fields[str(finding['loc'][-1])].description}")
    if not finding["loc"]:  # of several fields at once: its input would be all of them
        return _Finding("", "", str(finding["ctx"]["error"]))
    message = finding["msg"].removeprefix("Value error, ")
    return _Finding(field, "", f": {message}, not {finding['input']!r}{_range(owner, str(finding['loc'][-1]))}")


def _own_names(model: type[BaseModel]) -> Iterator[str]:
    """Yield the names that fields may have without a dot: those of settings inside, as a run's learner, need none."""
    for name, field in model.model_fields.items():
        if (inner := _inner(field)) is not None and registry_of(field) is None:
            yield from _own_names(inner)
        elif name != "kind":
            yield name


def _range(model: type[BaseModel], field: str) -> str:
    """Name both bounds of a field that has two: a message of pydantic's names only the one that was crossed."""
    known = model.model_fields.get(field)
    bounds = {
        kind: getattr(bound, kind)
        for bound in (known.metadata if known else ())
        for kind in ("ge", "gt", "le", "lt")
        if hasattr(bound, kind)
    }
    low = [f"from {bounds['ge']}"] if "ge" in bounds else [f"above {bounds['gt']}"] if "gt" in bounds else []
    high = [f"to {bounds['le']}"] if "le" in bounds else [f"below {bounds['lt']}"] if "lt" in bounds else []
    return f" (accepted: {' '.join(low + high)})" if low and high else ""
