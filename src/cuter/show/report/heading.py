"""What stands above the sections: a title, and what all runs have in common."""

from __future__ import annotations

from collections.abc import Sequence

from cuter.show.run_labels import NamedRun, full_settings, shortened, value_text

MOST_METHODS = 4  # in a title
LONGEST = 40  # letters of a backbone


def default_title(runs: Sequence[NamedRun]) -> str:
    """Name the methods, and the data set if it is one for all."""
    methods = list(dict.fromkeys(str(full_settings(run.record.config)["method"]) for run in runs))
    datasets = {value_text(run.record.config.get("dataset")) for run in runs}
    if len(methods) > MOST_METHODS:
        methods[MOST_METHODS - 1 :] = [f"{len(methods) - MOST_METHODS + 1} more"]
    said = " and ".join([", ".join(methods[:-1]), methods[-1]] if len(methods) > 1 else methods)
    return f"{said} on {datasets.pop()}" if len(datasets) == 1 else said


def shared_facts(runs: Sequence[NamedRun]) -> list[str]:
    """Return what all runs have in common and a reader wants to know first."""
    tests = [run.record.results[-1] for run in runs if run.record.results]
    facts = [_counted(len(runs), "run", "runs")]
    if tests and len({(one.task, one.classes, one.images) for one in tests}) == 1:
        test = tests[0]
        facts.append(f"{_counted(test.task + 1, 'task', 'tasks')}, {_counted(len(test.classes), 'class', 'classes')}")
        facts.append(_counted(test.images, "test image", "test images"))
    backbones = {str(run.record.config.get("backbone", "")) for run in runs}
    budgets = {str(run.record.config.get("memory_images", "")) for run in runs}
    if len(backbones) == 1 and (backbone := backbones.pop()):
        facts.append("backbone " + shortened(backbone.rstrip("/").rpartition("/")[2], LONGEST))
    if len(budgets) == 1 and (budget := budgets.pop()):
        facts.append(f"room in memory for {_counted(int(budget), 'image', 'images')}")
    return facts


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
