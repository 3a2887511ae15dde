"""A forward over some of the patches, for every family of transformers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from backbone.test_backbone import SIZES, TRANSFORMERS, images, tiny, tiny_resnet
from cuter.backbone import Backbone
from cuter.backbone.families import FAMILIES, build, make_config, tokens_before_patches
from cuter.backbone.preprocessing import Preprocessing
from cuter.backbone.subset import group_by_length
from cuter.errors import BackboneError, BatchError

ALL = [*TRANSFORMERS, "vit_conv_stem"]


def random_masks(batch=5, seed=0, rows=4, columns=4):
    generator = torch.Generator().manual_seed(seed)
    masks = torch.rand(batch, rows, columns, generator=generator) < torch.linspace(0.15, 0.9, batch)[:, None, None]
    masks[:, 1, 2] = True
    return masks


def by_hidden_keys(backbone, batch, visible):
    """The same by other means: all tokens go through, and no attention looks at those that are not visible."""
    before = tokens_before_patches(backbone.encoder.config)
    pixels = (batch.float() / 255 - backbone.mean) / backbone.std
    patch = backbone.patch_size
    pixels = pixels * visible.repeat_interleave(patch, 1).repeat_interleave(patch, 2)[:, None]
    seen = torch.cat([torch.ones(len(batch), before, dtype=torch.bool), visible.flatten(1)], dim=1)
    mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[:, None, None]
    options = FAMILIES[backbone.encoder.config.model_type].call
    return backbone.encoder(pixels, attention_mask=mask, **options).last_hidden_state, before


@pytest.mark.parametrize("model_type", ALL)
@torch.no_grad()
def test_what_is_left_out_is_as_if_nobody_looked_at_it(model_type):
    backbone, batch, visible = tiny(model_type, "tokens"), images(batch=5), random_masks()
    expected, before = by_hidden_keys(backbone, batch, visible)
    found = backbone(batch, visible)
    torch.testing.assert_close(found.embedding, expected[:, 0], atol=1e-5, rtol=1e-4)
    wanted = expected[:, before:] * visible.flatten(1).unsqueeze(2)
    torch.testing.assert_close(found.tokens, wanted, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.patches, found.tokens)
    assert torch.equal(found.visible, visible.flatten(1))


@pytest.mark.parametrize("model_type", ALL)
@torch.no_grad()
def test_with_all_patches_it_is_the_plain_forward(model_type):
    backbone, batch = tiny(model_type), images(batch=3)
    plain = backbone(batch)
    some = backbone._encode_some(
        (batch.float() / 255 - backbone.mean) / backbone.std, torch.ones(3, 4, 4, dtype=torch.bool), (4, 4)
    )
    asked = backbone(batch, torch.ones(3, 4, 4, dtype=torch.bool))
    for field in ("embedding", "patches", "tokens"):
        torch.testing.assert_close(getattr(some, field), getattr(plain, field), atol=1e-5, rtol=1e-4)
        assert torch.equal(getattr(asked, field), getattr(plain, field))


@pytest.mark.parametrize("model_type", ALL)
@torch.no_grad()
def test_pixels_of_other_patches_mean_nothing(model_type):
    backbone, visible = tiny(model_type), random_masks()
    one, other = images(batch=5), images(batch=5, seed=1)
    patches = visible.repeat_interleave(8, 1).repeat_interleave(8, 2).unsqueeze(1)
    first, second = backbone(one, visible), backbone(torch.where(patches, one, other), visible)
    assert torch.equal(first.embedding, second.embedding)


@torch.no_grad()
def test_keys_are_those_of_the_visible_patches():
    backbone, batch, visible = tiny("vit"), images(batch=5), random_masks()
    patches = backbone(batch, visible).patches
    assert (patches[visible.flatten(1)] != 0).any(dim=1).all()
    assert (patches[~visible.flatten(1)] == 0).all()


@torch.no_grad()
def test_an_image_does_not_depend_on_the_others_of_its_batch():
    backbone, batch, visible = tiny("vit"), images(batch=5), random_masks()
    together = backbone(batch, visible).embedding
    alone = torch.cat([backbone(batch[n : n + 1], visible[n : n + 1]).embedding for n in range(5)])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_the_mean_of_patches_is_that_of_the_visible_ones():
    config = make_config({"model_type": "vit", **SIZES}, "test")
    backbone = Backbone(build(config), Preprocessing(32), name="mean", pooling="patch mean").eval()
    found = backbone(images(batch=5), visible := random_masks())
    expected = torch.stack([row[here].mean(dim=0) for row, here in zip(found.tokens, visible.flatten(1), strict=True)])
    torch.testing.assert_close(found.embedding, expected)


def test_gradients_reach_weights_through_all_groups():
    backbone, visible = tiny("vit").train(), random_masks()
    assert len(group_by_length(visible.flatten(1))) > 1
    pixels = (images(batch=5).float() / 255).requires_grad_()
    backbone(pixels, visible).embedding.square().sum().backward()
    touched = pixels.grad.abs().sum(dim=1).unflatten(1, (4, 8)).unflatten(3, (4, 8)).sum(dim=(2, 4)) > 0
    assert torch.equal(touched, visible)
    assert all(p.grad is not None for n, p in backbone.named_parameters() if p.requires_grad and "layers" in n)


def test_no_hook_stays_behind():
    def broken(*_):
        raise RuntimeError("broken")

    backbone, batch, visible = tiny("dinov3_vit"), images(batch=5), random_masks()
    backbone.encoder.norm.register_forward_pre_hook(broken)
    with pytest.raises(RuntimeError, match="broken"):
        backbone(batch, visible)
    assert not backbone.encoder.embeddings._forward_hooks
    assert not backbone.encoder.rope_embeddings._forward_hooks


@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9).filter(any), min_size=1, max_size=12))
def test_groups_hold_every_visible_patch_once_and_little_padding(rows):
    visible = torch.tensor(rows)
    again = torch.zeros_like(visible, dtype=torch.int64)
    for group in group_by_length(visible):
        assert group.is_real.float().mean() >= 0.75
        for image, patches, is_real in zip(group.images, group.patches, group.is_real, strict=True):
            again[image, patches[is_real]] += 1
    assert torch.equal(again, visible.long())


def test_what_cannot_be_left_out_is_refused():
    backbone = tiny("vit")
    with pytest.raises(BackboneError, match="is a CNN"):
        tiny_resnet()(images(), torch.ones(2, 4, 4, dtype=torch.bool))
    with pytest.raises(BatchError, match=r"visible must be bool \(2, 4, 4\), not torch.bool \(2, 16\)"):
        backbone(images(), torch.ones(2, 16, dtype=torch.bool))
    nothing = torch.ones(2, 4, 4, dtype=torch.bool)
    nothing[1] = False
    with pytest.raises(BatchError, match="no patch of image 1 is visible"):
        backbone(images(), nothing)


def test_every_family_is_tested():
    assert {*ALL, "vit_mae", "resnet"} == set(FAMILIES)
