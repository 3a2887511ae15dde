"""The demonstration: three methods meet one stream of rendered scenes; a table and a page compare them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError
from cuter.learn.recipe import METHODS
from cuter.runs.config import RunConfig, load_config, with_absolute_paths
from cuter.runs.directory import RunDirectory
from cuter.runs.run import resume, start
from cuter.settings import flattened
from cuter.show.narrow import show
from cuter.show.report import comparison_table, read_runs, write_report
from cuter.show.run_display import RunDisplay
from cuter.show.run_labels import value_text, varying

COMPARED = ("finetune", "rs", "cuter")
BACKBONE = "toybox"
REPORT = "report.html"

# Settings of all three runs, as in `cuter run --help`. What a method chooses itself it is not given: fine-tuning has no
# memory. All of it shall take five minutes on two cores.
OPTIONS: dict[str, Any] = {
    "dataset": "toybox",
    "dataset_options": {"train": 1000, "test": 300},  # scenes; many come in two tasks. Rendered once, 200 a second
    "tasks": "5x5",
    "batch_size": 5,  # small, so that a short stream has many steps
    "replay.size": 5,  # as much again as the stream brings
    "memory.images": 100,  # few, so that it matters what is kept
    "lr": 2e-4,  # a small backbone, of which much is still to be learned
    "head.lr": 2e-3,
    "augment": "flip",
    "probe_images": 32,  # on which the cut is measured after each task; it takes as long as some hundred to test
}


def run_demo(
    out: Path,
    display: RunDisplay,
    seed: int = 0,
    device: str = "auto",
    *,
    backbone: str = BACKBONE,
    options: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Carry out one run a method in folders below `out`, compare them, and return their summaries by method.

    Given the same folder again, it goes on where it stopped: what is finished is not repeated. `options` go before
    `OPTIONS`. A folder of other settings is a `ConfigError`.
    """
    configs = _configs(seed, device, backbone, options)
    _begun(out, configs)
    summaries: dict[str, dict[str, Any]] = {}
    for number, (method, config) in enumerate(configs.items(), start=1):
        display.say(f"\n{number} of {len(configs)}: {method}. {METHODS[method].summary}")
        summaries[method] = _finished(config, out / method, display)
    folders = [out / method for method in configs]
    with display.console.status("making the report"):
        runs = read_runs(folders)
        write_report(folders, out / REPORT)  # last: where it is, all is done
    display.say("")
    show(display.console, comparison_table(runs))
    return summaries


def can_go_on(out: Path, seed: int = 0, device: str = "auto", **choices: Any) -> bool:
    """Return whether a demonstration of these settings was begun in a folder and is not finished.

    The choices are those of `run_demo`.
    """
    try:
        return bool(_begun(out, _configs(seed, device, **choices))) and not (out / REPORT).is_file()
    except ConfigError:
        return False


def _configs(
    seed: int, device: str, backbone: str = BACKBONE, options: Mapping[str, Any] | None = None
) -> dict[str, RunConfig]:
    given = {**OPTIONS, "backbone": backbone, **(options or {}), "seed": seed, "device": device}
    return {
        method: with_absolute_paths(
            load_config(None, {k: v for k, v in given.items() if k not in _chosen_by(method)} | {"method": method})
        )
        for method in COMPARED
    }


def _chosen_by(method: str) -> dict[str, Any]:
    """Return what a method chooses itself, by dotted names."""
    choices = METHODS[method].choices
    return {
        f"{part}.{field}": one
        for part, value in choices.items()
        if isinstance(value, dict)
        for field, one in value.items()
    }


def _begun(out: Path, configs: Mapping[str, RunConfig]) -> list[str]:
    """Return the methods whose runs were begun; refuse a folder of something else, or of runs with other settings."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"{out} is a file: --out names a folder")
    begun = [method for method in configs if (out / method / "config.yaml").is_file()]
    others = sorted(entry.name for entry in out.iterdir() if entry.name not in configs) if out.is_dir() else []
    if others and not begun:
        raise ConfigError(f"{out} holds something else than a demonstration, {others[0]}: choose another --out")
    for method in begun:
        saved = flattened(RunDirectory.open(out / method).config.dump())
        asked = flattened(configs[method].dump())
        if fields := varying([saved, asked]):
            field = fields[0]
            asked_for = f"{field} {value_text(saved[field])}, not {value_text(asked[field])}"
            raise ConfigError(f"{out} was begun with {asked_for}: ask for the same, or choose another --out")
    return begun


def _finished(config: RunConfig, folder: Path, display: RunDisplay) -> dict[str, Any]:
    """Return the summary of a run, which is started, continued, or finished already."""
    if not (folder / "config.yaml").is_file():
        return start(config, folder, display)
    summary = RunDirectory.open(folder).finished
    if summary is None:
        display.say("It goes on where it stopped.")
        return resume(folder, display)
    display.say("It is finished.")
    return summary
