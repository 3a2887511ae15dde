"""Real weights: the features are right, not only their shapes."""

import numpy as np
import pytest
import torch
from transformers import AutoModel

from cuter.backbone import Backbone, load_backbone

WEIGHTS = {"vit-tiny-patch16-224": (192, 16, 0.5), "dinov2-small": (384, 14, 0.485)}


@pytest.fixture(scope="module", params=WEIGHTS)
def loaded(request, shared):
    folder = shared / "weights" / request.param
    if not folder.is_dir():
        pytest.skip(f"no weights at {folder}")
    return folder, load_backbone(folder).eval()


def images(size=224):
    return torch.randint(0, 256, (2, 3, size, size), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_sizes_and_normalisation(loaded):
    folder, backbone = loaded
    dim, patch, red = WEIGHTS[folder.name]
    assert (backbone.embedding_dim, backbone.patch_dim, backbone.patch_size, backbone.image_size) == (
        dim,
        dim,
        patch,
        224,
    )
    assert backbone.mean.flatten()[0].item() == pytest.approx(red)
    assert {p.dtype for p in backbone.parameters()} == {torch.float32}
    assert backbone.report.left_over == ()


@torch.no_grad()
def test_embedding_equals_that_of_transformers(loaded):
    folder, backbone = loaded
    model = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    output = model((images().float() / 255 - backbone.mean) / backbone.std).last_hidden_state
    torch.testing.assert_close(backbone(images()).embedding, output[:, 0], atol=1e-4, rtol=1e-3)


@torch.no_grad()
def test_a_bright_square_stands_out_where_it_is(loaded):
    _, backbone = loaded
    size, rows = backbone.patch_size * 12, slice(2, 5)
    image = np.random.default_rng(0).integers(90, 110, (1, 3, size, size), dtype=np.uint8)
    cells = np.zeros((12, 12), dtype=bool)
    cells[rows, 7:10] = True
    image[:, :, np.kron(cells, np.ones((backbone.patch_size,) * 2)).astype(bool)] = 250
    patches = torch.nn.functional.normalize(backbone(torch.from_numpy(image)).patches[0], dim=1)
    inside = torch.from_numpy(cells.flatten())
    likeness = patches @ patches[inside].mean(dim=0)
    # By rank, not by a margin: all keys of DINOv2 share a large part, so its cosines lie close together.
    assert likeness[inside].min() > likeness[~inside].max()


@torch.no_grad()
def test_a_description_and_weights_are_enough(loaded):
    _, backbone = loaded
    again = Backbone.from_description(backbone.describe()).eval()
    again.load_state_dict(backbone.state_dict())
    assert torch.equal(again(images()).patches, backbone(images()).patches)


@torch.no_grad()
def test_some_patches_alone_are_all_patches_with_the_others_hidden(loaded):
    """Also where an encoder of real weights amplifies small differences."""
    _, backbone = loaded
    side = 224 // backbone.patch_size
    visible = torch.zeros(2, side, side, dtype=torch.bool)
    visible[0, 2:9, 3:7], visible[1, 5:, :4] = True, True
    found = backbone(images(), visible).embedding
    hidden = ~torch.cat([torch.ones(2, 1, dtype=torch.bool), visible.flatten(1)], dim=1)
    mask = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)[:, None, None]
    pixels = (images().float() / 255 - backbone.mean) / backbone.std
    expected = backbone.encoder(pixels, attention_mask=mask).last_hidden_state[:, 0]
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)
