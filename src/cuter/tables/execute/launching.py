"""How a run becomes a process, on whatever machine. Without torch: a node of a cluster imports this for every run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

PROGRAM = ("-m", "cuter")  # arguments of Python


def command_of(folder: Path, config: Path, program: Sequence[str]) -> list[str]:
    """Return what starts the run of a folder, or lets it go on where it stopped."""
    command = [sys.executable, *program, "run"]
    if (folder / "config.yaml").is_file():
        return [*command, "--resume", str(folder)]
    for leftover in folder.glob(".config.yaml.*"):  # of a kill in the very first moment
        leftover.unlink()
    return [*command, "--config", str(config), "--out", str(folder)]
