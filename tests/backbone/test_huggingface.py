"""Folders in Hugging Face layout, and the hub when it cannot be reached."""

import json
import logging

import huggingface_hub.constants
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from cuter.backbone import load_backbone
from cuter.errors import BackboneError

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "image_size": 32,
    "patch_size": 8,
}


def images(height=32, width=32):
    return torch.randint(0, 256, (2, 3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def normalised(backbone, batch):
    return (batch.float() / 255 - backbone.mean) / backbone.std


@pytest.fixture
def vit(tmp_path):
    model = transformers.ViTModel(transformers.ViTConfig(**SIZES)).eval()  # with a pooler, which we do not want
    model.save_pretrained(tmp_path / "vit")
    return tmp_path / "vit", model


class Recorder(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


def test_loading_is_quiet_and_leaves_the_settings_alone(vit, capfd):
    recorder = Recorder()
    transformers.logging.add_handler(recorder)
    verbosity = transformers.logging.get_verbosity()
    try:
        transformers.ViTModel.from_pretrained(vit[0], add_pooling_layer=False)
        assert recorder.messages  # transformers alone does talk
        assert "weights" in capfd.readouterr().err
        recorder.messages.clear()
        load_backbone(vit[0])
    finally:
        transformers.logging.remove_handler(recorder)
    assert recorder.messages == []
    assert capfd.readouterr() == ("", "")
    assert transformers.logging.get_verbosity() == verbosity
    assert transformers.logging.is_progress_bar_enabled()


def test_a_folder_gives_what_its_model_gives(vit):
    folder, model = vit
    backbone = load_backbone(folder).eval()
    features = backbone(images())
    output = model(normalised(backbone, images())).last_hidden_state
    torch.testing.assert_close(features.embedding, output[:, 0])
    assert not any("pooler" in name for name in backbone.state_dict())
    assert backbone.name == backbone.report.source == str(folder)
    assert backbone.report.left_over == ("pooler.dense.bias", "pooler.dense.weight")
    assert "pooler.dense.bias" in str(backbone.report)
    assert "ImageNet" in str(backbone.report)


def test_half_precision_is_loaded_as_single(vit):
    folder, model = vit
    model.half().save_pretrained(folder)
    assert {p.dtype for p in load_backbone(folder).parameters()} == {torch.float32}


def test_loading_leaves_the_random_state_alone(vit):
    random_state = torch.get_rng_state()
    load_backbone(vit[0])
    assert torch.equal(torch.get_rng_state(), random_state)


@pytest.mark.parametrize(
    ("fields", "size", "mean"),
    [
        ({"size": 48, "image_mean": [0.1, 0.2, 0.3], "image_std": [1, 1, 1]}, 48, (0.1, 0.2, 0.3)),
        ({"size": {"height": 40, "width": 40}}, 40, (0.485, 0.456, 0.406)),
        ({"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}, 224, (0.485, 0.456, 0.406)),
        ({"size": 64, "crop_size": 56, "do_center_crop": False}, 64, (0.485, 0.456, 0.406)),
        ({"do_normalize": False, "image_mean": [0.5, 0.5, 0.5]}, 32, (0.0, 0.0, 0.0)),
    ],
)
def test_preprocessing_is_read(vit, fields, size, mean):
    (vit[0] / "preprocessor_config.json").write_text(json.dumps(fields))
    backbone = load_backbone(vit[0])
    assert backbone.image_size == size
    torch.testing.assert_close(backbone.mean.flatten(), torch.tensor(mean))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"size": {"height": 32, "width": 64}}', "'size'.*equal"),
        ('{"image_mean": [0.5], "image_std": [0.5]}', "three numbers"),
        ("{", "cannot be read"),
    ],
)
def test_preprocessing_that_makes_no_sense_is_refused(vit, text, message):
    (vit[0] / "preprocessor_config.json").write_text(text)
    with pytest.raises(BackboneError, match=rf"preprocessor_config\.json.*{message}"):
        load_backbone(vit[0])


def test_missing_weights_are_named(vit):
    file = vit[0] / "model.safetensors"
    tensors = load_file(file)
    dropped = [name for name in tensors if ".mlp." in name or "mlp.fc" in name or "intermediate" in name]
    assert dropped
    save_file({name: tensor for name, tensor in tensors.items() if name not in dropped}, file, {"format": "pt"})
    with pytest.raises(BackboneError, match=rf"lacks {len(dropped)} weights of its encoder: .*mlp"):
        load_backbone(vit[0])


def test_weights_of_another_size_are_refused(vit):
    config = json.loads((vit[0] / "config.json").read_text())
    (vit[0] / "config.json").write_text(json.dumps(config | {"image_size": 64}))
    with pytest.raises(BackboneError, match="do not fit ViTModel"):
        load_backbone(vit[0])


@pytest.mark.parametrize("model_class", ["ViTMAEModel", "ViTMAEForPreTraining"])
def test_mae_keeps_its_patches_in_order(tmp_path, model_class):
    config = transformers.ViTMAEConfig(**SIZES, mask_ratio=0.0, decoder_num_hidden_layers=1)
    model = getattr(transformers, model_class)(config).eval()
    model.save_pretrained(tmp_path)
    backbone = load_backbone(tmp_path, features="tokens").eval()
    encoder = getattr(model, "vit", model)
    in_order = torch.arange(16.0).expand(2, -1)  # MAE sorts the patches by this noise
    expected = encoder(normalised(backbone, images()), noise=in_order).last_hidden_state[:, 1:]
    features = backbone(images())
    torch.testing.assert_close(features.patches, expected)
    torch.testing.assert_close(features.embedding, expected.mean(dim=1))
    assert backbone.describe()["pooling"] == "patch mean"
    assert backbone(images(40, 24)).grid == (5, 3)


def test_resnet_folder(tmp_path):
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[1, 2])
    model = transformers.ResNetModel(config).eval()
    model.save_pretrained(tmp_path)
    backbone = load_backbone(tmp_path).eval()
    features = backbone(images())
    output = model(normalised(backbone, images()))
    torch.testing.assert_close(features.patches, output.last_hidden_state.flatten(2).transpose(1, 2))
    assert (backbone.features, backbone.image_size) == ("tokens", 224)
    assert "224 was assumed" in str(backbone.report)
    with pytest.raises(BackboneError, match=r"'keys'.*Accepted: tokens"):
        load_backbone(tmp_path, features="keys")


def test_other_model_types_are_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "swin"}')
    with pytest.raises(BackboneError, match=r"'swin' is not supported.*vit, vit_mae, deit, dinov2.*resnet"):
        load_backbone(tmp_path)


def test_folders_that_are_not_whole_are_refused(vit, tmp_path):
    with pytest.raises(BackboneError, match=r"holds no config\.json"):
        load_backbone(tmp_path)
    (vit[0] / "model.safetensors").unlink()
    with pytest.raises(BackboneError, match=r"not a whole folder.*model.safetensors"):
        load_backbone(vit[0])


def test_an_unreachable_hub_is_explained(monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BackboneError, match=r"neither a short name, nor a local path, nor.*hub.*dino-vits16, "):
        load_backbone("facebook/no-such-model")
    with pytest.raises(BackboneError, match=r"'dino-vits16' \(facebook/dino-vits16\) cannot be loaded.*hub"):
        load_backbone("dino-vits16")


def test_a_pickle_that_is_more_than_weights_is_refused_and_not_run(vit, tmp_path):
    class Harmful:
        def __reduce__(self):
            return (open, (str(tmp_path / "was run"), "w"))

    (vit[0] / "model.safetensors").unlink()
    torch.save({"weight": Harmful()}, vit[0] / "pytorch_model.bin")
    with pytest.raises(
        BackboneError, match=r"vit: its weights are refused: it wants to call .*open; only tensors"
    ) as caught:
        load_backbone(vit[0])
    assert "safetensors" in str(caught.value)
    assert "weights_only" not in str(caught.value)  # torch's own advice there is to run the file's code
    assert not (tmp_path / "was run").exists()


def test_the_side_of_images_has_a_bound(vit):
    (vit[0] / "preprocessor_config.json").write_text(json.dumps({"size": 1_000_000}))
    with pytest.raises(BackboneError, match="image_size must be a whole number from 1 to 4096, not 1000000"):
        load_backbone(vit[0])
