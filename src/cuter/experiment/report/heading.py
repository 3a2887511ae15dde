"""What stands above the sections: a title, and what all runs have in common."""

from __future__ import annotations

from collections.abc import Sequence

from cuter.experiment.report.names import NamedRun, shortened, value_text

MOST_METHODS = 4  # in a title


def default_title(runs: Sequence[NamedRun]) -> str:
    """Name the methods, and the data set if it is one for all."""
    methods = list(dict.fromkeys(str(run.facts.config.get("method", "run")) for run in runs))
    datasets = {value_text(run.facts.config.get("dataset")) for run in runs}
    if len(methods) > MOST_METHODS:
        methods[MOST_METHODS - 1 :] = [f"{len(methods) - MOST_METHODS + 1} more"]
    said = " and ".join([", ".join(methods[:-1]), methods[-1]] if len(methods) > 1 else methods)
    return f"{said} on {datasets.pop()}" if len(datasets) == 1 else said


def shared_facts(runs: Sequence[NamedRun]) -> list[str]:
    """Return what all runs have in common and a reader wants to know first."""
    configs = [run.facts.config for run in runs]
    tests = [run.facts.results[-1] for run in runs if run.facts.results]
    facts = [f"{len(runs)} run{'' if len(runs) == 1 else 's'}"]
    if tests and len({(one.task, one.classes, one.images) for one in tests}) == 1:
        facts.append(f"{tests[0].task + 1} tasks, {len(tests[0].classes):,} classes")
        facts.append(f"{tests[0].images:,} test images")
    if len(names := {value_text(config.get("backbone")) for config in configs}) == 1:
        facts.append("backbone " + shortened(names.pop().rstrip("/").rpartition("/")[2], 40))
    if len(budgets := {config.get("memory_images") for config in configs}) == 1:
        facts.append(f"memory of {budgets.pop()} images")
    return facts
