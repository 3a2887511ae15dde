"""Things that many tests need."""

import os
import signal
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from cuter.backbone import Backbone, save_backbone, untrained_vit
from shapes import render_shapes

REPOSITORY = Path(__file__).resolve().parents[1]

# A slow machine is not a failure; in CI the same examples are tried every time.
settings.register_profile("cuter", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("cuter")

# Tests use small tensors: more threads only wait for each other, and other processes of the tests share the cores.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# In the background of a shell the tests would ignore Ctrl-C, and so would all programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data and weights, which are not part of the product."""
    folder = Path(os.environ.get("CUTER_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set CUTER_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small rendered data set of 8 classes, in the layout of 'folder'."""
    root = tmp_path_factory.mktemp("shapes")
    render_shapes(root, train=60, test=30)
    return root


@pytest.fixture
def tiny() -> Backbone:
    """A transformer small enough to train in a test."""
    return untrained_vit(image_size=32, patch_size=8, dim=32, depth=2, heads=2)


@pytest.fixture(scope="session")
def backbone_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same transformer as a folder, for commands that take a name."""
    folder = tmp_path_factory.mktemp("backbone")
    save_backbone(untrained_vit(image_size=32, patch_size=8, dim=32, depth=2, heads=2), folder)
    return folder
