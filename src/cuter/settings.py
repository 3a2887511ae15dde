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


def restored(model: type[Model], values: Mapping[str, Any]) -> Model:
    """Build a model from values that were saved with all fields that there were at the time, or raise `ConfigError`.

    A field that came later has its default, which is what was done before it came, whatever a method chooses today.
    """
    later = {name: field.default for name, field in model.model_fields.items() if not field.is_required()}
    return validated(model, {**later, **values})


def _explain(model: type[BaseModel], finding: Any) -> str:
    field = ".".join(str(part) for part in finding["loc"])
    if finding["type"] == "extra_forbidden":
        return f"unknown field {field!r}.{did_you_mean(field, sorted(model.model_fields))}"
    if finding["type"] == "missing":
        return f"{field} is needed: {model.model_fields[field].description}"
    if not finding["loc"]:  # of several fields at once: its input would be all of them
        return str(finding["ctx"]["error"])
    return f"{field}: {finding['msg']}, not {finding['input']!r}{_range(model, str(finding['loc'][0]))}"


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
