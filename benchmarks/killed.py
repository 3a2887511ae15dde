"""Kill a table of `cuter paper` with all of its runs on the way, let it go on, and compare it with an undisturbed one.

    cuter paper voc --data-root VOCdevkit --backbone FOLDER --scale small --out whole
    python benchmarks/killed.py --whole whole --out killed --after 1 --after 6 \
        voc --data-root VOCdevkit --backbone FOLDER --scale small

Each --after is a number of finished runs; somewhat later everything is killed at once by -9, as when the power goes.
What else is given is for `cuter paper`. It ends with code 1 if a figure of the two tables differs.
"""

import argparse
import csv
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

Figures = dict[tuple[str, str], str]


def main() -> int:
    """Carry it out and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", type=Path, required=True, help="--out of the command that nobody disturbed")
    parser.add_argument("--out", type=Path, required=True, help="an empty folder for the one that is killed")
    parser.add_argument("--after", type=int, action="append", required=True, help="finished runs; may be repeated")
    parser.add_argument("--seconds", type=float, default=45, help="how much later, in the middle of other runs")
    given, paper = parser.parse_known_args()
    if given.out.exists() and any(given.out.iterdir()):
        parser.error(f"{given.out} is not empty")
    command = [sys.executable, "-m", "cuter", "paper", *paper, "--out", str(given.out)]
    for count in given.after:
        process = subprocess.Popen(command)
        while finished(given.out) < count:
            if process.poll() is not None:
                parser.error(f"the command ended before {count} runs were finished")
            time.sleep(1)
        time.sleep(given.seconds)
        killed = kill_with_descendants(process)
        if not (short := cut_short(given.out)):
            parser.error("nothing was under way when it was killed: another --after or --seconds")
        print(f"killed {killed} processes with {finished(given.out)} runs finished; {short}", flush=True)
    subprocess.run(command, check=True)
    (table,) = given.out.glob("*/table.csv")
    return report(figures(given.whole / table.relative_to(given.out)), figures(table))


def finished(out: Path) -> int:
    """Count the finished runs."""
    return len(list(out.glob("runs/*/summary.json")))


def cut_short(out: Path) -> str:
    """Tell which runs were cut short, and after how many lines of their metrics."""
    short = [file for file in sorted(out.glob("runs/*/metrics.jsonl")) if not (file.parent / "summary.json").exists()]
    return ", ".join(f"{file.parent.name} after {len(file.read_text().splitlines())} steps and tests" for file in short)


def kill_with_descendants(process: subprocess.Popen[bytes]) -> int:
    """Kill a process and all that it started, directly or not, and return how many there were."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(child): int(parent) for child, parent in (line.split() for line in listed.splitlines())}
    doomed = [process.pid]
    for pid in doomed:  # it grows while we go through it: children, their children …
        doomed += [child for child, parent in parents.items() if parent == pid]
    for pid in doomed:
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(pid, signal.SIGKILL)
    process.wait()
    return len(doomed)


def figures(table: Path) -> Figures:
    """Read the figures of a table by row and column, as they are written; speeds differ anyway."""
    with table.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["column"] != "images/s"]
    return {(line["row"], line["column"]): line["mean"] for line in lines}


def report(whole: Figures, killed: Figures) -> int:
    """Print what differs, to the last digit; return the exit code."""
    every = whole.keys() | killed.keys()
    differing = sorted(key for key in every if whole.get(key) != killed.get(key))
    for key in differing:
        print(f"{' '.join(key)}: {whole.get(key)} undisturbed, {killed.get(key)} killed and continued")
    print(f"{len(every) - len(differing)} of {len(every)} figures are the same to the last digit")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
