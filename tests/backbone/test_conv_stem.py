from pathlib import Path

import pytest
import torch
from torch import nn

from cuter.backbone import Backbone, load_backbone, untrained_vit
from cuter.backbone.conv_stem import ConvStem
from cuter.backbone.huggingface import save_backbone
from cuter.errors import BackboneError


def vit(**choices: object) -> Backbone:
    return untrained_vit(32, 8, dim=16, depth=2, heads=2, conv_stem=True, **choices).eval()


def test_it_has_one_position_for_each_patch_and_sees_a_little_further() -> None:
    stem = ConvStem(3, 16, 8)
    pixels = torch.rand(1, 3, 32, 48, requires_grad=True)
    found = stem(pixels)
    assert found.shape == (1, 16, 4, 6)
    # Norms look at the whole image, so they are taken out to see what the convolutions alone do.
    plain = nn.Sequential(*(layer for layer in stem if not isinstance(layer, nn.GroupNorm | nn.ReLU)))
    (sight,) = torch.autograd.grad(plain(pixels)[0, :, 2, 3].sum(), pixels)
    rows = sight[0].abs().sum(dim=(0, 2)).nonzero().flatten()
    assert (rows.min(), rows.max()) == (16 - 7, 16 + 7)  # of pixels around the patch's first corner


@pytest.mark.parametrize("size", [32, 64])
def test_features_have_the_shape_of_any_transformer(size: int) -> None:
    with torch.no_grad():
        features = vit()(torch.rand(2, 3, size, size))
    assert features.embedding.shape == (2, 16)
    assert features.patches.shape == (2, (size // 8) ** 2, 16)
    assert features.grid == (size // 8, size // 8)


def test_it_is_saved_loaded_and_described_as_it_is(tmp_path: Path) -> None:
    backbone, images = vit(), torch.rand(2, 3, 32, 32)
    save_backbone(backbone, tmp_path)
    described = Backbone.from_description(backbone.describe())
    described.load_state_dict(backbone.state_dict())
    with torch.no_grad():
        expected = backbone(images).embedding
        for other in (load_backbone(tmp_path), described):
            assert torch.equal(other.eval()(images).embedding, expected)
    assert load_backbone(tmp_path).report.architecture == "ConvStemViTModel"


def test_weights_of_a_plain_transformer_do_not_pass_for_it(tmp_path: Path) -> None:
    save_backbone(untrained_vit(32, 8, dim=16, depth=2, heads=2), tmp_path)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"model_type": "vit"', '"model_type": "vit_conv_stem"'))
    with pytest.raises(BackboneError, match="projection"):
        load_backbone(tmp_path)


def test_patches_must_be_halved_to() -> None:
    with pytest.raises(BackboneError, match="power of 2"):
        untrained_vit(36, 12, dim=16, depth=1, heads=2, conv_stem=True)


def test_all_its_weights_learn() -> None:
    backbone = vit().train()
    backbone(torch.rand(2, 3, 32, 32)).embedding.square().sum().backward()
    assert all(parameter.grad is not None for parameter in backbone.parameters() if parameter.requires_grad)
