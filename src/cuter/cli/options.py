"""Command-line options made from the fields of a configuration, so that the two can't drift apart."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Optional, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo


def with_options_of(model: type[BaseModel]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of `model`, in place of its `**fields`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        fields = [_parameter(name, field) for name, field in model.model_fields.items()]
        command.__signature__ = signature.replace(parameters=[*fields, *own])  # type: ignore[attr-defined]
        return command

    return decorate


def given(fields: dict[str, Any], model: type[BaseModel] | None = None) -> dict[str, Any]:
    """Keep the options that were typed; 'name=value' pairs become a dictionary where `model` has one."""
    typed = {name: value for name, value in fields.items() if value is not None and value != []}
    dictionaries = {name for name, field in (model.model_fields if model else {}).items() if _is(dict, field)}
    return {name: pairs(name, value) if name in dictionaries else value for name, value in typed.items()}


def pairs(name: str, values: list[str]) -> dict[str, Any]:
    """Make a dictionary of 'name=value' pairs."""
    for value in values:
        if "=" not in value:
            raise typer.BadParameter(f"{value!r} must be NAME=VALUE", param_hint=f"--{name.replace('_', '-')}")
    return dict(value.split("=", 1) for value in values)


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    # typer must not fill in defaults, a configuration file stands between them and the command line: only show them
    default = ", ".join(field.default) if _is(list, field) else field.default
    shown = "" if field.is_required() or default in (None, {}) else f" (default: {default})"
    if field.json_schema_extra == {"chosen_by_method": True}:
        shown = " (default: the method's choice)"
    panel = "Required, here or in --config" if field.is_required() else "Settings"
    option = typer.Option(help=f"{field.description}{shown}", show_default=False, rich_help_panel=panel)
    annotation: Any = Annotated[Optional[_option_type(field)], option]  # noqa: UP045
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _option_type(field: FieldInfo) -> Any:
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not type(None)]
    if _is(dict, field) or _is(list, field):
        return list[str]
    return kinds[0] if len(kinds) == 1 and kinds[0] in (int, float, bool) else str


def _is(kind: type, field: FieldInfo) -> bool:
    return get_origin(field.annotation) is kind
