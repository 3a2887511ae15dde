"""Stands in for the program `cuter`: a run of a few steps that takes no time to import, with figures by its settings.

It stops, goes on and locks its folder as a run does. STAND_IN_FAILS names methods that fail, STAND_IN_SECONDS is what a
step takes, STAND_IN_WAITS_FOR is a file without which no run takes its last step, and STAND_IN_LOG is one that gets a
line when a run begins and another when it ends.
"""

import fcntl
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import yaml

STEPS = 6
FIGURES = [f"{name}@{threshold}" for name in ("cf1_mean", "cf1_harmonic", "of1") for threshold in (0.5, 0.8)]


def main() -> int:
    asked = []
    signal.signal(signal.SIGINT, lambda *_: asked.append(True))
    arguments = sys.argv[2:]
    folder = Path(arguments[-1])
    if "--resume" not in arguments:
        folder.mkdir(parents=True)
        config = yaml.safe_load(Path(arguments[1]).read_text())
        (folder / "config.yaml").write_text(yaml.safe_dump(config))
    config = yaml.safe_load((folder / "config.yaml").read_text())
    learner = config["learner"]
    lock = (folder / ".lock").open("a")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    note("begin", folder)
    if learner["method"] in os.environ.get("STAND_IN_FAILS", "").split():
        print("all is well")
        print("error: no more room for images", file=sys.stderr)
        return 3
    checkpoint = folder / "checkpoints" / "step-00000000"
    checkpoint.mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints" / "step-00000009").mkdir(exist_ok=True)
    state = folder / "checkpoints" / "step-00000009" / "state"
    step = int(state.read_text()) if state.exists() else 0
    (folder / "metrics.jsonl").touch()
    lines = (folder / "metrics.jsonl").read_text().splitlines()[:step]
    while step < STEPS:
        step += 1
        lines.append(json.dumps({"step": step, "task": 0, "loss": 0.5, "memory": step}))
        write(folder, "metrics.jsonl", "\n".join(lines) + "\n")
        write(folder, "checkpoints/step-00000009/state", str(step))
        time.sleep(float(os.environ.get("STAND_IN_SECONDS", "0")))
        while step == STEPS - 1 and not asked and not released():
            time.sleep(0.01)
        if asked:
            note("stop", folder)
            return 130
    scores = figures(config)
    result = {"task": 0, "name": "task 1", "classes": ["cat"], "images": 9, "scores": scores | {"ap": [scores["map"]]}}
    test = {"step": step, "test": result, "localisation": {}, "classes": {"cat": 3}}
    write(folder, "metrics.jsonl", "\n".join([*lines, json.dumps(test)]) + "\n")
    took = {"train_seconds": 10.0, "test_seconds": 2.0, "train_images_per_second": 1.0, "steps": STEPS, "images": 60}
    found = {"average": scores, "last": scores, "mean_forgetting": 1.0, "memory_items": 3}
    write(folder, "summary.json", json.dumps(found | took))
    note("end", folder)
    return 0


def write(folder: Path, name: str, text: str) -> None:
    """Write a file that is whole or not there, whenever this process is killed, as those of a run."""
    unfinished = folder / ".unfinished"
    unfinished.write_text(text)
    unfinished.replace(folder / name)


def figures(config: dict[str, Any]) -> dict[str, float]:
    learner = config["learner"]
    number = int(hashlib.sha256(f"{learner['method']} {learner['seed']}".encode()).hexdigest()[:6], 16)
    average = 40 + number % 1000 / 100
    return {"map": average, "map_zero": average, **dict.fromkeys(FIGURES, number % 777 / 10)}


def released() -> bool:
    return Path(os.environ.get("STAND_IN_WAITS_FOR", __file__)).exists()


def note(what: str, folder: Path) -> None:
    if file := os.environ.get("STAND_IN_LOG"):
        with open(file, "a") as log:
            log.write(f"{what} {folder.name}\n")


if __name__ == "__main__":
    sys.exit(main())
