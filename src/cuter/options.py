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


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Keep the options that were typed; 'name=value' pairs become a dictionary."""
    typed = {name: value for name, value in fields.items() if value is not None and value != []}
    return {name: _pairs(name, value) if isinstance(value, list) else value for name, value in typed.items()}


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    # typer must not fill in defaults, a configuration file stands between them and the command line: only show them
    shown = "" if field.is_required() or field.default in (None, {}) else f" (default: {field.default})"
    if field.json_schema_extra == {"chosen_by_method": True}:
        shown = " (default: the method's choice)"
    panel = "Required, here or in --config" if field.is_required() else "Settings"
    option = typer.Option(help=f"{field.description}{shown}", show_default=False, rich_help_panel=panel)
    annotation: Any = Annotated[Optional[_option_type(field)], option]  # noqa: UP045
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _option_type(field: FieldInfo) -> Any:
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not type(None)]
    if get_origin(field.annotation) is dict:
        return list[str]
    return kinds[0] if len(kinds) == 1 and kinds[0] in (int, float, bool) else str


def _pairs(name: str, values: list[str]) -> dict[str, str]:
    for value in values:
        if "=" not in value:
            raise typer.BadParameter(f"{value!r} must be NAME=VALUE", param_hint=f"--{name.replace('_', '-')}")
    return dict(value.split("=", 1) for value in values)
