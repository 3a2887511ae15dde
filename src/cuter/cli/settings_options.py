"""Options of commands that take settings, made from the settings themselves: the two cannot drift apart.

A part is chosen by its name, and its fields by a dot: --memory prs --memory.power 0.1.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand

from cuter.cli.common import option_of
from cuter.registry import Registry, did_you_mean
from cuter.settings import Choices, PartSettings, Role, Settings, all_fields, has_role, import_modules, registry_of

TYPED = "cuter.settings"  # key of the context under which the typed settings are


def typed_settings(ctx: typer.Context) -> dict[str, Any]:
    """Return the settings that were typed, by their dotted names."""
    found: dict[str, Any] = ctx.meta.get(TYPED, {})
    return found


def taking_settings(model: str) -> type[TyperCommand]:
    """Return a kind of command that takes the settings of a class, 'module:Class', as options.

    The class is imported when the command is used: 'cuter --help' does not wait for it.
    """

    class SettingsCommand(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            _import_parts(args, model)
            own = {name for parameter in self.params for name in (*parameter.opts, *parameter.secondary_opts)}
            if "--help-all" in args:
                self._print_help(ctx, everything=True)
                ctx.exit()
            typed, rest = _separated(args, {*own, "--help"}, lambda: _class(model), ctx)
            ctx.meta[TYPED] = typed
            return super().parse_args(ctx, rest)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            self._print_help(ctx, everything=False)

        def _print_help(self, ctx: Any, *, everything: bool) -> None:
            super().format_help(ctx, ctx.make_formatter())
            console = Console()
            for panel in help_panels(_class(model), everything=everything):
                console.print(panel)
            if not everything and "learner" in _class(model).model_fields:
                console.print("  All settings: --help-all. One part: 'cuter explain memory.prs'.\n", highlight=False)

    return SettingsCommand


def _class(path: str) -> type[Settings]:
    module, _, name = path.partition(":")
    found: type[Settings] = getattr(importlib.import_module(module), name)
    return found


def _import_parts(args: list[str], model: str) -> None:
    """Import the modules that arguments, or the file of --config, name: the parts in them bring options."""
    modules, configs = _values(args, "--import", "--imports"), _values(args, "--config")
    if not (modules or configs) or "learner" not in _class(model).model_fields:
        return
    from cuter.runs.config import import_parts, read_fields, with_learner

    for file in configs[-1:]:
        if Path(file).is_file():
            import_parts(with_learner(read_fields(Path(file))))
    import_modules(modules)


def _values(args: list[str], *options: str) -> list[str]:
    """Return the values that options have among arguments."""
    found = []
    for token, after in itertools.zip_longest(args, args[1:], fillvalue=""):
        name, equals, value = token.partition("=")
        if token == "--":
            break
        if name in options and (equals or after):
            found.append(value if equals else after)
    return found


def _separated(args: list[str], own: set[str], model: Any, ctx: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the settings among arguments, and the other arguments."""
    typed: dict[str, Any] = {}
    rest: list[str] = []
    queue = list(args)
    fields: dict[str, FieldInfo] = {}
    while queue:
        token = queue.pop(0)
        name, equals, value = token.partition("=")
        if token == "--" or not token.startswith("--") or name in own:
            rest.append(token)
            if token == "--":
                rest += queue
                break
            continue
        fields = fields or dict(all_fields(model()))
        field_name = "imports" if name == "--import" else name[2:].replace("-", "_")
        if field_name.startswith("no_") and field_name not in fields and _is_flag(fields.get(field_name[3:])):
            typed[field_name[3:]] = False
            continue
        if field_name not in fields:
            raise typer.BadParameter(f"no such option: {name}.{_hint(field_name, list(fields))}", ctx)
        field = fields[field_name]
        if _is_flag(field) and not equals:
            typed[field_name] = True
            continue
        if not equals:
            if not queue or queue[0].startswith("--"):
                raise typer.BadParameter(f"option {name} needs a value: {field.description}", ctx)
            value = queue.pop(0)
        _note(typed, field_name, field, value, ctx)
    return typed, rest


def _hint(name: str, names: list[str]) -> str:
    from cuter.learn.renamed import RENAMED

    if name in RENAMED:
        return f" It is --{RENAMED[name].replace('_', '-')} now."
    spelled = [f"--{one.replace('_', '-')}" for one in names]
    hint, _, _ = did_you_mean(f"--{name.replace('_', '-')}", spelled).partition(" Accepted:")
    return f"{hint} --help-all lists all."


def _note(typed: dict[str, Any], name: str, field: FieldInfo, value: str, ctx: Any) -> None:
    """Add a typed value; what may be repeated is collected."""
    origin = get_origin(field.annotation)
    if origin is dict:
        key, equals, one = value.partition("=")
        if not equals:
            raise typer.BadParameter(f"{option_of(name)}: {value!r} must be NAME=VALUE", ctx)
        typed.setdefault(name, {})[key] = one
    elif origin is list:
        typed.setdefault(name, []).append(value)
    else:
        is_none = value.lower() in ("none", "null") and type(None) in get_args(field.annotation)
        typed[name] = None if is_none else value


def _is_flag(field: FieldInfo | None) -> bool:
    return field is not None and field.annotation is bool


def help_panels(model: type[Settings], *, everything: bool) -> Iterator[Panel]:
    """Return the settings for a terminal, grouped: those of a run, of its execution, of the learner, of each part."""
    groups: dict[str, list[tuple[str, FieldInfo, str]]] = {}
    for name, field, group, kinds in _grouped(model):
        is_needed = field.is_required() and "." not in name
        if everything or has_role(field, Role.COMMON) or is_needed or "learner" not in model.model_fields:
            groups.setdefault(group, []).append((name, field, kinds))
    for title, fields in groups.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="bold cyan")
        table.add_column()
        for name, field, kinds in fields:
            table.add_row(option_of(name), Text(field_help(field) + kinds))
        yield Panel(table, title=title, title_align="left", border_style="dim")


def _grouped(model: type[Settings]) -> Iterator[tuple[str, FieldInfo, str, str]]:
    """Yield the dotted name of each setting, its field, its group, and of which kinds of a part it is."""
    learner = model.model_fields.get("learner")
    inner = learner.annotation if learner else None
    for name, field in model.model_fields.items():
        if name != "learner":
            group = "How it is carried out" if has_role(field, Role.EXECUTION) else "Data and stream"
            yield name, field, "Settings" if learner is None else group, ""
    if not isinstance(inner, type) or not issubclass(inner, Settings):
        return
    for name, field in inner.model_fields.items():
        yield name, field, "Learner", ""
    for name, field in inner.model_fields.items():
        if (registry := registry_of(field)) is not None:
            for dotted, own, kinds in part_fields(registry, name):
                yield dotted, own, f"Part {name}", kinds


def part_fields(registry: Registry[Any], name: str) -> Iterator[tuple[str, FieldInfo, str]]:
    """Yield the settings of a part by their dotted names, and for which choices they are, if not for all."""
    found: dict[str, tuple[FieldInfo, list[str]]] = {}
    for kind in registry:
        for dotted, field in all_fields(registry.settings_of(kind), f"{name}."):
            found.setdefault(dotted, (field, []))[1].append(kind)
    for dotted, (field, kinds) in found.items():
        yield dotted, field, "" if len(kinds) == len(list(registry)) else f" [{', '.join(kinds)}]"


def field_help(field: FieldInfo) -> str:
    """Return what a field is, which values it accepts, and its default."""
    text = field.description or ""
    if (registry := registry_of(field)) is not None:
        names = [name for name in registry if not name.endswith("-published")]
        return f"{text} One of: {', '.join(names)}. (default: the method's choice, else {field.default})"
    for registry in (one.registry for one in field.metadata if isinstance(one, Choices)):
        text = f"{text} One of: {', '.join(registry)}."
    if get_origin(field.annotation) is Literal:
        text = f"{text} [{'|'.join(map(str, get_args(field.annotation)))}]"
    if field.is_required():
        return f"{text} (required, here or in --config)"
    default = field.get_default(call_default_factory=True)
    shown = f"{default:g}" if isinstance(default, float) else default
    shown = ", ".join(default) if isinstance(default, list) else shown
    return text if default in (None, {}, []) else f"{text} (default: {shown})"


def explain(path: str | None) -> Iterator[Text]:
    """Return what parts there are, what a part can be, or what one choice of it does and its settings."""
    from cuter.learn.settings import LearnerSettings

    parts = {name: field for name, field in LearnerSettings.model_fields.items() if registry_of(field) is not None}
    if path is None:
        for name, field in parts.items():
            yield Text.assemble((f"{name}  ", "bold"), field.description or "")
        return
    name, _, kind = path.partition(".")
    if name not in parts:
        raise typer.BadParameter(f"there is no part {name!r}.{did_you_mean(name, list(parts))}")
    registry = registry_of(parts[name])
    assert registry is not None
    if not kind:
        yield Text.assemble((f"--{name}  ", "bold"), parts[name].description or "")
    for one in [kind] if kind else registry:
        yield Text.assemble((f"\n{name}.{one}  ", "bold cyan"), _summary(registry[one], whole=bool(kind)))
        settings: type[PartSettings] = registry.settings_of(one)
        for dotted, field in all_fields(settings, f"{name}."):
            yield Text.assemble((f"    {option_of(dotted)}  ", "bold"), field_help(field))


def _summary(part: Any, *, whole: bool) -> str:
    """Return the docstring of a part, below that of its module, or its first sentence."""
    code = getattr(part, "form", part)
    texts = [sys.modules[code.__module__].__doc__, code.__doc__] if whole else [code.__doc__]
    lines = [line.strip() for text in texts if text for line in [*text.strip().splitlines(), ""]]
    return "\n    ".join(lines).rstrip() if whole else next(iter(lines), "")
