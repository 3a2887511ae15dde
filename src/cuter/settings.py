"""Turns pydantic's findings into one message that names the field, what was wrong and what is accepted."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from cuter.errors import ConfigError
from cuter.registry import did_you_mean

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Build a model from values, or raise `ConfigError`."""
    try:
        return model(**values)
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(model, finding) for finding in error.errors())) from None


def _explain(model: type[BaseModel], finding: Any) -> str:
    field = ".".join(str(part) for part in finding["loc"])
    if finding["type"] == "extra_forbidden":
        return f"unknown field {field!r}.{did_you_mean(field, sorted(model.model_fields))}"
    if finding["type"] == "missing":
        return f"{field} is needed: {model.model_fields[field].description}"
    if not finding["loc"]:  # of several fields at once: its input would be all of them
        return str(finding["ctx"]["error"])
    return f"{field}: {finding['msg']}, not {finding['input']!r}"
