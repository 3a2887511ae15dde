"""What was saved with fewer settings is read as what it was."""

from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from cuter.errors import ConfigError
from cuter.settings import restored, validated


class Chosen(BaseModel, extra="forbid"):
    """A model whose method chooses what is not given."""

    method: str
    old: int = 1
    new: int = 1

    @model_validator(mode="before")
    @classmethod
    def _choose(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {"old": 2, "new": 2} | values


def test_a_setting_that_came_later_has_its_default() -> None:
    assert validated(Chosen, {"method": "x", "old": 3}).new == 2
    assert restored(Chosen, {"method": "x", "old": 3}) == Chosen(method="x", old=3, new=1)


def test_what_is_missing_or_unknown_is_an_error_all_the_same() -> None:
    with pytest.raises(ConfigError, match="method is needed"):
        restored(Chosen, {"old": 3})
    with pytest.raises(ConfigError, match="unknown field 'gone'"):
        restored(Chosen, {"method": "x", "gone": 3})
