"""Every public name has a docstring whose example does what it says."""

import doctest
import importlib
import inspect
import pkgutil

import pytest
import torch

import cuter
from cuter import checks, models

CHECKS = [name for name in checks.__all__ if name.startswith("check_")]
EXPORTS = ["to_huggingface", "to_onnx"]
PUBLIC = [
    *(f"cuter.{name}" for name in cuter.__all__),
    *(f"cuter.checks.{name}" for name in CHECKS),
    *(f"cuter.export.{name}" for name in EXPORTS),
]
MODULES = [
    *(f"cuter.models.{module.name}" for module in pkgutil.iter_modules(models.__path__)),
    "cuter.measure.thresholds",
]
VERBS = ("create", "observe", "predict", "cut", "load")


def public(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", PUBLIC)
def test_examples(name: str) -> None:
    examples = [test for test in doctest.DocTestFinder().find(public(name), name) if test.examples]
    assert name in [test.name for test in examples], "it has no example"
    for test in examples:
        torch.manual_seed(0)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
        assert not said, "".join(said)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_of_a_learner_have_examples(verb: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(cuter.Learner, verb)) or "")


def test_public_names_are_listed() -> None:
    assert {*cuter.__all__, "__version__"} <= {*dir(cuter)}
