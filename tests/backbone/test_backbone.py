"""What one forward gives, for every family of transformers."""

import copy
import json
import weakref

import pytest
import torch
from torch.nn import functional

from cuter.backbone import Backbone, untrained_vit
from cuter.backbone.families import build, make_config
from cuter.backbone.preprocessing import Preprocessing
from cuter.errors import BackboneError, BatchError

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "image_size": 32,
    "patch_size": 8,
}
TRANSFORMERS = ["vit", "deit", "dinov2", "dinov2_with_registers", "dinov3_vit"]
EXTRA = {"dinov3_vit": {"num_register_tokens": 3}}


def tiny(model_type, features=None, **changes):
    config = make_config({"model_type": model_type, **SIZES, **EXTRA.get(model_type, {}), **changes}, "test")
    return Backbone(build(config), Preprocessing(32), name=f"tiny {model_type}", features=features).eval()


def tiny_resnet():
    config = {"model_type": "resnet", "embedding_size": 8, "hidden_sizes": [16, 32], "depths": [1, 1]}
    return Backbone(build(make_config(config, "test")), Preprocessing(32), name="tiny resnet").eval()


def images(height=32, width=32, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (batch, 3, height, width), dtype=torch.uint8, generator=generator)


def before_last_block(backbone, batch):
    """Walk through a ViT by hand up to the input of the last block's attention."""
    pixels = (batch.float() / 255 - backbone.mean) / backbone.std
    x = backbone.encoder.embeddings(pixels, interpolate_pos_encoding=True)
    for layer in backbone.encoder.layers[:-1]:
        x = layer(x)
    last = backbone.encoder.layers[-1]
    norm = last.layernorm_before
    return last, functional.layer_norm(x, (x.shape[-1],), norm.weight, norm.bias, norm.eps)


@pytest.mark.parametrize(("kind", "projection"), [("keys", "k_proj"), ("values", "v_proj"), ("queries", "q_proj")])
def test_projections_equal_those_computed_by_hand(kind, projection):
    backbone = untrained_vit(depth=3, features=kind)
    last, x = before_last_block(backbone, images())
    linear = getattr(last.attention, projection)
    expected = (x @ linear.weight.T + linear.bias)[:, 1:]
    torch.testing.assert_close(backbone(images()).patches, expected)


def test_dinov2_keys_equal_those_from_its_hidden_states():
    backbone = tiny("dinov2", num_hidden_layers=3)
    pixels = (images().float() / 255 - backbone.mean) / backbone.std
    states = copy.deepcopy(backbone.encoder)(pixels, output_hidden_states=True).hidden_states
    last = backbone.encoder.encoder.layer[-1]
    expected = last.attention.k_proj(last.norm1(states[2]))[:, 1:]
    torch.testing.assert_close(backbone(images()).patches, expected)


@pytest.mark.parametrize("model_type", TRANSFORMERS)
def test_tokens_and_embedding_equal_the_encoders_own_output(model_type):
    backbone = tiny(model_type, "tokens")
    pixels = (images().float() / 255 - backbone.mean) / backbone.std
    output = copy.deepcopy(backbone.encoder)(pixels).last_hidden_state
    features = backbone(images())
    torch.testing.assert_close(features.patches, output[:, -16:])
    torch.testing.assert_close(features.embedding, output[:, 0])
    backbone.set_features("keys")
    torch.testing.assert_close(backbone(images()).tokens, output[:, -16:])  # whatever the cut sees


@pytest.mark.parametrize("model_type", TRANSFORMERS)
@pytest.mark.parametrize("kind", ["keys", "values", "queries", "tokens"])
def test_shapes_without_class_and_register_tokens(model_type, kind):
    backbone = tiny(model_type, kind)
    features = backbone(images(24, 40))
    assert features.grid == (3, 5)
    assert features.patches.shape == (2, 15, backbone.patch_dim)
    assert features.tokens.shape == (2, 15, backbone.embedding_dim)
    assert features.embedding.shape == (2, backbone.embedding_dim)


@pytest.mark.parametrize("model_type", TRANSFORMERS)
@pytest.mark.parametrize(("height", "width"), [(32, 32), (24, 48)])
def test_patches_are_listed_row_by_row(model_type, height, width):
    backbone = tiny(model_type, num_hidden_layers=1)  # the keys of the first block know of their own patch only
    first = images(height, width)
    second = first.clone()
    second[:, :, 8:16, 16:24] = 255 - second[:, :, 8:16, 16:24]
    change = (backbone(first).patches - backbone(second).patches).abs().amax(dim=2)
    changed = change.view(2, *backbone(first).grid) > 1e-6
    assert changed.nonzero().tolist() == [[0, 1, 2], [1, 1, 2]]


@pytest.mark.parametrize("make", [untrained_vit, tiny_resnet])
def test_uint8_and_float_agree(make):
    backbone = make().eval()
    as_float = backbone(images().float() / 255)
    as_bytes = backbone(images())
    torch.testing.assert_close(as_bytes.patches, as_float.patches)
    torch.testing.assert_close(as_bytes.embedding, as_float.embedding)


def test_a_cnn_takes_any_size_and_gives_its_maps():
    backbone = tiny_resnet()
    features = backbone(images(50, 90))
    assert backbone.patch_size == 8
    assert features.grid == (7, 12)
    maps = backbone.encoder((images(50, 90).float() / 255 - backbone.mean) / backbone.std)
    torch.testing.assert_close(features.patches[:, 2 * 12 + 5], maps.last_hidden_state[:, :, 2, 5])
    torch.testing.assert_close(features.embedding, maps.pooler_output.flatten(1))


def test_the_encoder_runs_once():
    backbone = untrained_vit()
    runs = []
    backbone.encoder.register_forward_hook(lambda *_: runs.append(1))
    backbone(images())
    assert len(runs) == 1


def hooks(backbone):
    return sum(len(module._forward_hooks) for module in backbone.modules())


def test_hooks_do_not_pile_up():
    backbone = untrained_vit()
    for _ in range(3):
        backbone(images())
    assert hooks(backbone) == 0


def test_hooks_are_removed_after_a_failed_forward(monkeypatch):
    backbone = untrained_vit()

    def fail(*_):
        assert hooks(backbone) == 1  # so that this test can fail
        raise RuntimeError("out of memory")

    monkeypatch.setattr(backbone.encoder.layernorm, "forward", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        backbone(images())
    assert hooks(backbone) == 0


def test_no_tensor_outlives_the_features():
    backbone = untrained_vit()
    seen = []
    backbone.encoder.layers[-1].attention.k_proj.register_forward_hook(lambda _, __, out: seen.append(weakref.ref(out)))
    features = backbone(images())
    assert features.patches is not None
    del features
    assert seen[0]() is None


@pytest.mark.parametrize("kind", ["keys", "tokens"])
def test_gradient_flows_through_the_patches(kind):
    backbone = untrained_vit(features=kind)
    backbone(images()).patches.square().mean().backward()
    assert backbone.encoder.embeddings.patch_embeddings.projection.weight.grad.abs().sum() > 0
    assert backbone.encoder.layers[-1].attention.k_proj.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("model_type", TRANSFORMERS)
def test_every_trainable_weight_is_used(model_type):
    backbone = tiny(model_type).train()
    features = backbone(images())
    (features.patches.sum() + features.embedding.square().sum()).backward()
    assert [name for name, p in backbone.named_parameters() if p.requires_grad and p.grad is None] == []


@pytest.mark.parametrize("model_type", TRANSFORMERS)
def test_training_mode_is_not_random(model_type):
    backbone = tiny(model_type).train()
    assert torch.equal(backbone(images()).patches, backbone(images()).patches)


def test_sizes_that_are_no_multiple_of_the_patch_are_refused():
    with pytest.raises(BackboneError, match=r"untrained-vit .* 8×8.* not 32×36; .* 32×32"):
        untrained_vit()(images(32, 36))


@pytest.mark.parametrize("batch", [torch.zeros(3, 32, 32), torch.zeros(1, 1, 32, 32), torch.zeros(1, 3, 32, 32).long()])
def test_batches_that_are_no_images_are_refused(batch):
    with pytest.raises(BatchError, match=r"\(B, 3, H, W\)"):
        untrained_vit()(batch)


def test_impossible_patch_features_are_refused():
    with pytest.raises(BackboneError, match=r"'pixels'.*keys, values, queries, tokens"):
        untrained_vit(features="pixels")
    with pytest.raises(BackboneError, match=r"'keys'.*Accepted: tokens"):
        Backbone(tiny_resnet().encoder, Preprocessing(32), name="resnet", features="keys")


@pytest.mark.parametrize("make", [untrained_vit, tiny_resnet, *(lambda t=t: tiny(t, "values") for t in TRANSFORMERS)])
def test_a_description_and_weights_make_the_same_backbone(make):
    backbone = make().eval()
    random_state = torch.get_rng_state()
    again = Backbone.from_description(json.loads(json.dumps(backbone.describe()))).eval()
    assert torch.equal(torch.get_rng_state(), random_state)
    again.load_state_dict(backbone.state_dict())
    assert again.describe() == backbone.describe()
    batch = images(40, 24)
    assert torch.equal(again(batch).patches, backbone(batch).patches)
    assert torch.equal(again(batch).embedding, backbone(batch).embedding)


def test_descriptions_that_do_not_fit_are_refused():
    whole = untrained_vit().describe()
    with pytest.raises(BackboneError, match="lacks mean"):
        Backbone.from_description({field: value for field, value in whole.items() if field != "mean"})
    with pytest.raises(BackboneError, match=r"pooling.*'max'.*class token, patch mean"):
        Backbone.from_description({**whole, "pooling": "max"})
    with pytest.raises(BackboneError, match=r"model type 'swin' is not supported.*dinov2"):
        Backbone.from_description({**whole, "config": {"model_type": "swin"}})


def test_a_deep_copy_learns_apart():
    backbone = untrained_vit()
    twin = copy.deepcopy(backbone)
    assert torch.equal(twin(images()).patches, backbone(images()).patches)
    with torch.no_grad():
        twin.encoder.layers[-1].attention.k_proj.bias.add_(1)
    assert not torch.equal(twin(images()).patches, backbone(images()).patches)


def test_untrained_vit_depends_on_its_seed_alone():
    torch.manual_seed(1)
    random_state = torch.get_rng_state()
    first = untrained_vit(seed=3).state_dict()
    assert torch.equal(torch.get_rng_state(), random_state)
    torch.manual_seed(2)
    second, other = untrained_vit(seed=3).state_dict(), untrained_vit(seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    weight = "encoder.embeddings.cls_token"
    assert not torch.equal(first[weight], other[weight])


def test_features_of_an_earlier_block() -> None:
    backbone = untrained_vit(32, 8, dim=32, depth=3, heads=2, features="values@2")
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    seen: list[torch.Tensor] = []
    projection = [module.v_proj for module in backbone.encoder.modules() if hasattr(module, "v_proj")][1]
    projection.register_forward_hook(lambda module, inputs, output: seen.append(output))
    patches = backbone(images).patches
    assert torch.equal(patches, seen[0][:, 1:])
    backbone.set_features("values@3")
    assert backbone.features == "values"  # the last block goes without its number
    assert not torch.equal(backbone(images).patches, patches)
    copy = Backbone.from_description(backbone.describe() | {"features": "values@2"})
    assert copy.features == "values@2"


@pytest.mark.parametrize("wrong", ["values@0", "values@4", "values@", "values@x", "tokens@1", "value@1", "@1"])
def test_features_that_no_block_has(wrong: str) -> None:
    with pytest.raises(BackboneError, match=r"Accepted: keys, .* of a block from 1 to 3"):
        untrained_vit(32, 8, dim=32, depth=3, heads=2, features=wrong)
