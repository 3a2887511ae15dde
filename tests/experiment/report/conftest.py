"""Two small real runs, with checkpoints and a class whose name is meant to break a page."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from cuter.experiment import run as runs
from cuter.experiment.config import RunConfig
from cuter.experiment.display import Display
from cuter.learn import selection
from cuter.stream.shapes import render_shapes

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
def real_runs(nasty_shapes: Path, backbone_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One finished run of RS and one of CUTER."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "draw_run", lambda folder: [])  # its pictures take longer than the run
        patch.setattr(selection, "CLEARLY_BELOW", 10.0)  # else it keeps no cut-out: it sees all labels in all of them
        for method in ("rs", "cuter"):
            config = RunConfig(
                method=method,
                dataset="folder",
                data_root=nasty_shapes,
                backbone=str(backbone_folder),
                tasks="4x2",
                memory_images=10,
                memory_codec="jpeg",
                replay_size=3,
                probe_images=4,
                workers=0,
                device="cpu",
                lr=1e-3,
            )
            runs.start(config, folder / method, Display(Console(file=io.StringIO(), width=120)))
    return [folder / "rs", folder / "cuter"]
