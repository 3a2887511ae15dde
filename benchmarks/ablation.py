"""The ablation of the paper (tab: ablation), and of what goes beyond it: mean ± std over seeds.

    python benchmarks/ablation.py --data-root VOCdevkit --backbone FOLDER --out runs/ablation

Each row is a method with options, each run a folder under --out. A command that was stopped goes on where it was, and
finished runs are not repeated. Runs take turns by seed, so that all rows have one seed before any has two.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from cuter.experiment.history import read_metrics

BEYOND = ["--memory", "balanced", "--replay-draw", "by-class", "--stream-unknown", "absent-if-sure"]
R = ["--regulariser", "fiedler"]
ROWS: dict[str, list[str]] = {
    "RS": ["--method", "rs"],
    "Cut.Rep": ["--method", "cutrep"],
    "Cut.Rep w/ R": ["--method", "cutrep", *R],
    "CUTER, frozen localiser": ["--method", "cuter-frozen"],
    "CUTER": ["--method", "cuter"],
    "CUTER w/ R": ["--method", "cuter", *R],
    "CUTER to the letter": ["--method", "cuter-paper"],
    "CUTER but selection as printed": ["--method", "cuter", "--selection", "paper"],
    "CUTER but no fallback": ["--method", "cuter", "--fallback", "none"],
    "CUTER but uniform draws": ["--method", "cuter", "--replay-draw", "uniform"],
    "CUTER but unknown ignored": ["--method", "cuter", "--stream-unknown", "ignored"],
    "CUTER but whole images": ["--method", "rs", *BEYOND],
    "CUTER, memory as JPEG": ["--method", "cuter", "--memory-codec", "jpeg"],
    "RS, memory as JPEG": ["--method", "rs", "--memory-codec", "jpeg"],
    "all classes at once (bound)": ["--method", "rs", "--tasks", "20"],
}


WHOLE = ("items", "most", "least")  # figures without decimals


def carry_out(folder: Path, options: list[str]) -> None:
    """Run, or continue, one run in a process of its own with one thread; its output goes to a log beside it."""
    if (folder / "summary.json").exists():
        return
    started = (folder / "config.yaml").exists()
    command = [sys.executable, "-m", "cuter", "run", *(["--resume", str(folder)] if started else options)]
    command += [] if started else ["--out", str(folder)]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.log").open("a") as log:
        done = subprocess.run(
            command, stdout=log, stderr=log, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False
        ).returncode
    print(f"{folder.name}: {'done' if done == 0 else f'failed, see {log.name}'}", flush=True)


def figures(folder: Path) -> dict[str, float]:
    """Return the figures of a finished run."""
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    tests = [line for line in read_metrics(folder / "metrics.jsonl") if "test" in line]
    held = list(tests[-1]["classes"].values())
    return {
        "average mAP": summary["average"]["map"],
        "last mAP": summary["last"]["map"],
        "last CF1": summary["last"]["cf1_mean@0.8"],
        "last OF1": summary["last"]["of1@0.8"],
        "items": summary["memory_items"],
        "most": max(held),
        "least": min(held),
        "purity": 100 * tests[-1].get("purity", float("nan")),
        "CorLoc": 100 * tests[-1]["localisation"].get("corloc", float("nan")),
        "Fiedler": tests[-1]["localisation"].get("fiedler", float("nan")),
        "images/s": summary["train_images_per_second"],
    }


def main() -> None:
    """Carry out what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, one thread each; 0: show what is there")
    parser.add_argument("--only", nargs="*", choices=list(ROWS), default=list(ROWS), help="these rows")
    parser.add_argument(
        "options", nargs="*", help="options of 'cuter run' for all rows, after --",
        default=["--limit-train", "1500", "--limit-test", "1500", "--memory-images", "300"],
    )  # fmt: skip
    given = parser.parse_args()
    common = ["--dataset", "voc", "--data-root", str(given.data_root), "--backbone", given.backbone]
    common += ["--workers", "0", "--device", "cpu", *given.options]
    runs: dict[tuple[str, int], tuple[Path, list[str]]] = {}
    for seed in range(given.seeds):
        for row in given.only:
            options = [
                *common,
                "--seed",
                str(seed),
                *(ROWS[row] if "--tasks" in ROWS[row] else [*ROWS[row], "--tasks", "5x4"]),
            ]
            digest = hashlib.sha256(" ".join(options).encode()).hexdigest()[:8]  # other options are another run
            name = re.sub(r"[^a-z]+", "-", row.lower()).strip("-")
            runs[row, seed] = (given.out / f"{name}-{seed}-{digest}", options)
    if given.jobs:
        with ThreadPoolExecutor(given.jobs) as pool:
            try:
                list(pool.map(lambda run: carry_out(*run), runs.values()))
            except KeyboardInterrupt:  # runs under way write a checkpoint; none begins
                pool.shutdown(cancel_futures=True)
                raise
    found: dict[str, list[dict[str, float]]] = {row: [] for row in given.only}
    for (row, _), (folder, _) in runs.items():
        if (folder / "summary.json").exists():
            found[row].append(figures(folder))
    show(found)


def show(found: dict[str, list[dict[str, float]]]) -> None:
    """Print mean ± std of all figures."""
    names = next((list(runs[0]) for runs in found.values() if runs), [])
    table = Table("", "seeds", *names, title="mean ± std over seeds")
    for row, runs in found.items():
        cells = []
        for name in names if runs else []:
            values = np.array([run[name] for run in runs])
            spread = f" ± {values.std(ddof=1):.1f}" if len(values) > 1 and name not in WHOLE else ""
            digits = 3 if name == "Fiedler" else 0 if name in WHOLE else 1
            cells.append("–" if np.isnan(values).all() else f"{values.mean():.{digits}f}{spread}")
        table.add_row(row, str(len(runs)), *cells)
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
