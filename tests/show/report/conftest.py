"""Two small real runs, with checkpoints and a class whose name is meant to break a page."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cuter.learn.keepers import selection
from cuter.runs import run as runs
from cuter.runs.config import RunConfig
from cuter.show import run_display
from cuter.show.run_display import RunDisplay
from shapes import render_shapes

NASTY = '<b>&"ö猫'


@pytest.fixture(scope="session")
def nasty_shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small data set with a class of that name."""
    root = tmp_path_factory.mktemp("nasty")
    render_shapes(root, train=48, test=16)
    for split in ("train", "test"):
        file = root / f"{split}.csv"
        rows = file.read_text(encoding="utf-8").replace("circle", NASTY.replace('"', '""')).splitlines()
        quoted = [rows[0], *(f'{path},"{labels}"' for path, _, labels in (row.partition(",") for row in rows[1:]))]
        file.write_text("\n".join(quoted) + "\n", encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def start_run(nasty_shapes: Path, backbone_folder: Path) -> Callable[..., None]:
    """Carry out a run of a few steps in a folder."""

    def start(folder: Path, **settings: Any) -> None:
        given = {
            "dataset": "folder",
            "data_root": nasty_shapes,
            "backbone": str(backbone_folder),
            "tasks": "4x2",
            "memory.images": 10,
            "memory.codec": "jpeg",
            "replay.size": 3,
            "probe_images": 4,
            "workers": 0,
            "device": "cpu",
            "lr": 1e-3,
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_display, "draw_run", lambda folder, **_: [])  # its pictures take longer than the run
            patch.setattr(selection, "CLEARLY_BELOW", 10.0)  # else no cut-out is kept: all seem to show all labels
            runs.start(RunConfig(**given | settings), folder, RunDisplay(Console(file=io.StringIO(), width=120)))

    return start


@pytest.fixture(scope="session")
def real_runs(start_run: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One finished run of RS and one of CUTER."""
    folder = tmp_path_factory.mktemp("runs")
    for method in ("rs", "cuter"):
        start_run(folder / method, method=method)
    return [folder / "rs", folder / "cuter"]
