"""bfloat16 inside the backbone, float32 outside."""

import copy

import pytest
import torch

from cuter.backbone import Backbone, untrained_vit
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch

IMAGES = torch.randint(0, 256, (4, 3, 224, 224), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    torch.manual_seed(0)
    return untrained_vit().eval()


def halves() -> torch.Tensor:
    """Half of the patches of two images, all of the others."""
    visible = torch.ones(4, 14, 14, dtype=torch.bool)
    visible[:2, 7:] = False
    return visible


@pytest.mark.parametrize("visible", [None, halves()])
def test_what_comes_out_is_float32_and_nearly_the_same(backbone: Backbone, visible: torch.Tensor | None) -> None:
    size = backbone.image_size
    images = torch.nn.functional.interpolate(IMAGES.float(), (size, size)).to(torch.uint8)
    if visible is not None:
        grid = size // backbone.patch_size
        visible = torch.nn.functional.interpolate(visible[None].float(), (grid, grid))[0].bool()
    fast = copy.deepcopy(backbone)
    fast.precision = "bfloat16"
    with torch.no_grad():
        exact, rough = backbone(images, visible), fast(images, visible)
    for name in ("embedding", "patches", "tokens"):
        expected, found = getattr(exact, name), getattr(rough, name)
        assert found.dtype == torch.float32
        assert not torch.equal(found, expected), "it was computed with fewer digits"
        assert torch.nn.functional.cosine_similarity(found.flatten(), expected.flatten(), dim=0) > 0.999


def test_a_learner_of_bfloat16_learns_nearly_the_same_and_keeps_float32_weights() -> None:
    learners = [
        Learner.create("cuter", backbone=untrained_vit(), memory={"images": 4}, device="cpu", precision=precision)
        for precision in ("float32", "bfloat16")
    ]
    learners[1].backbone.load_state_dict(learners[0].backbone.state_dict())
    for learner in learners:
        learner.observe(Batch.of(IMAGES, [["cat"], ["dog"], ["cat", "dog"], []]))
    exact, rough = (learner.scores(IMAGES) for learner in learners)
    torch.testing.assert_close(rough, exact, atol=0.05, rtol=0)
    assert {parameter.dtype for parameter in learners[1].model.parameters()} == {torch.float32}
    assert Learner.from_state(learners[1].state_dict(), "cpu").backbone.precision == "bfloat16"
