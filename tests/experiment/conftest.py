from pathlib import Path

import pytest

from cuter.experiment.config import RunConfig


@pytest.fixture(scope="session")
def config(shapes: Path, backbone_folder: Path) -> RunConfig:
    """A run of four small tasks that takes seconds."""
    return RunConfig(
        dataset="folder",
        data_root=shapes,
        backbone=str(backbone_folder),
        tasks="4x2",
        memory_images=10,
        replay_size=3,
        probe_images=4,
        workers=0,
        device="cpu",
        lr=1e-3,
    )
