"""A small model and its photos, made once."""

from pathlib import Path

import pytest
import torch

from cuter import Batch, Learner
from cuter.backbone import untrained_vit
from shapes import CLASSES, render_shapes


def small_learner(seed: int = 0) -> Learner:
    """Return a learner of eight classes whose probabilities lie on both sides of one half."""
    torch.manual_seed(seed)
    backbone = untrained_vit(image_size=32, patch_size=8, dim=32, depth=2, heads=2)
    learner = Learner.create("rs", backbone=backbone, device="cpu", memory={"images": 4})
    images = torch.randint(256, (4, 3, 32, 32), dtype=torch.uint8)
    learner.observe(Batch.of(images, [["circle", "cross"], ["star"], [], ["spark"]], known=CLASSES))
    with torch.no_grad():
        for parameter in learner.model.head.parameters():
            parameter.normal_(1.4 if parameter.ndim == 1 else 0.0, 0.6)
    return learner


@pytest.fixture(scope="session")
def learner() -> Learner:
    """A learner; tests only look at it."""
    return small_learner()


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory, learner: Learner) -> Path:
    """The same learner as a folder."""
    folder = tmp_path_factory.mktemp("model") / "tagger"
    learner.save(folder)
    return folder


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty small images in a folder, with labels.csv of the data set 'folder' beside them."""
    root = tmp_path_factory.mktemp("photos")
    render_shapes(root, train=30, test=10)
    return root
