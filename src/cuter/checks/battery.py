"""What all checks share: how they are run, and how a failure reads."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from cuter.errors import ConfigError
from cuter.registry import did_you_mean

Check = Callable[..., None]  # of the name of a part, and settings by keyword


def require(holds: bool, sentence: str) -> None:
    """Raise `AssertionError` with this sentence if something does not hold."""
    if not holds:
        raise AssertionError(sentence)


def run_checks(
    kind: str, name: str, checks: Sequence[Check], skip: Collection[str], settings: Mapping[str, Any]
) -> None:
    """Run checks on the part of this name, but for those whose names are in `skip`.

    Raises:
        AssertionError: Something does not hold.
        ConfigError: A check to be skipped does not exist.
    """
    names = [check.__name__ for check in checks]
    for skipped in skip:
        if skipped not in names:
            raise ConfigError(f"there is no check {skipped!r} of a {kind}.{did_you_mean(skipped, names)}")
    for check in checks:
        if check.__name__ in skip:
            continue
        try:
            check(name, **settings)
        except AssertionError as error:
            raise AssertionError(f"{kind} {name!r}: {error} (check {check.__name__})") from error
        except Exception as error:
            error.add_note(f"in the check {check.__name__} of the {kind} {name!r}")
            raise


def flat_state(state: Any, name: str = "") -> dict[str, Any]:
    """Return a copy of a nested state, by names as 'model/head/bias'."""
    if not isinstance(state, Mapping):
        return {name: copy.deepcopy(state)}
    return {key: value for part, one in state.items() for key, value in flat_state(one, f"{name}/{part}").items()}


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """Return the name of an entry in which two flat states differ; empty if they are the same."""
    for name in (*first, *second):
        if name not in first or name not in second or not _same(first[name], second[name]):
            return name
    return ""


def generator(seed: int = 0) -> torch.Generator:
    """Return a random generator of this seed."""
    return torch.Generator().manual_seed(seed)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return first.dtype == second.dtype and torch.equal(first, second)
    return json.dumps(first) == json.dumps(second)  # on disk a pair becomes a list
