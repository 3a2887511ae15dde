"""Things that many tests need."""

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings

from cuter.backbone import Backbone, save_backbone, untrained_vit
from cuter.runs.config import RunConfig
from cuter.show import run_display
from cuter.show.run_pictures import draw_run
from shapes import render_shapes

REPOSITORY = Path(__file__).resolve().parents[1]

# A slow machine is no failure, and the same examples are tried each time; --hypothesis-profile=explore tries others.
settings.register_profile("cuter", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("cuter")

# Tests use small tensors: more threads only wait for each other, and other processes of the tests share the cores.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# In the background of a shell the tests would ignore Ctrl-C, and so would all programs that they start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


# What takes long to make is made once: the tests that use it go to one of the processes of the tests.
COSTLY = ("address", "learned", "real_runs", "finished", "untracked", "cuts", "pretrained", "scenes", "plans")


@pytest.hookimpl(wrapper=True)  # before xdist, which reads the names of groups in this hook as well
def pytest_collection_modifyitems(items: list[pytest.Function]) -> Iterator[None]:
    """Name the groups of tests that `pytest --dist loadgroup` keeps together, and begin with them: they take long."""
    for item in items:
        if name := next((name for name in COSTLY if name in item.fixturenames), None):
            value = item.callspec.params.get(name, "") if hasattr(item, "callspec") else ""
            item.add_marker(pytest.mark.xdist_group(f"{name} {value}".strip()))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
    return (yield)


def draw_the_same() -> None:
    """Start the generators that belong to nobody from one state."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def pytest_fixture_setup() -> None:
    """Draw the same in a fixture, whichever test asks for it first."""
    draw_the_same()


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """Draw the same in each test, alone or after others."""
    draw_the_same()


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the pictures at the end of a run, which take longer than it; tests of them ask for `pictures`."""
    monkeypatch.setattr(run_display, "draw_run", lambda folder, **_: [])


@pytest.fixture
def pictures(no_pictures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw them after all."""
    monkeypatch.setattr(run_display, "draw_run", draw_run)


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


@pytest.fixture(scope="session")
def config(shapes: Path, backbone_folder: Path) -> RunConfig:
    """A run of four small tasks that takes seconds."""
    return RunConfig(
        dataset="folder",
        data_root=shapes,
        backbone=str(backbone_folder),
        tasks="4x2",
        memory={"images": 10},
        replay={"size": 3},
        probe_images=4,
        workers=0,
        device="cpu",
        lr=1e-3,
    )
