"""Checkpoint files that must not be loaded."""

import os

import pytest
import torch
from safetensors.torch import save_file

from cuter.backbone import load_backbone, untrained_vit
from cuter.errors import BackboneError


def save(path, content):
    torch.save(content, path)
    return path


def tiny_vit(dim=64):
    """Names and shapes of a one-block transformer in timm's naming."""
    shapes = {
        "cls_token": (1, 1, dim),
        "pos_embed": (1, 5, dim),
        "patch_embed.proj.weight": (dim, 3, 8, 8),
        "patch_embed.proj.bias": (dim,),
        "blocks.0.attn.qkv.weight": (3 * dim, dim),
        "blocks.0.attn.qkv.bias": (3 * dim,),
        "blocks.0.attn.proj.weight": (dim, dim),
        "blocks.0.attn.proj.bias": (dim,),
        "blocks.0.mlp.fc1.weight": (2 * dim, dim),
        "blocks.0.mlp.fc1.bias": (2 * dim,),
        "blocks.0.mlp.fc2.weight": (dim, 2 * dim),
        "blocks.0.mlp.fc2.bias": (dim,),
    }
    for norm in ("blocks.0.norm1", "blocks.0.norm2", "norm"):
        shapes |= {f"{norm}.weight": (dim,), f"{norm}.bias": (dim,)}
    return {name: torch.ones(shape) for name, shape in shapes.items()}


class Malice:
    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


@pytest.mark.parametrize("legacy", [True, False])
def test_code_in_a_pickle_is_never_run(tmp_path, legacy):
    content = tiny_vit() | {"extra": Malice(tmp_path / "trace")}
    torch.save(content, tmp_path / "bad.pth", _use_new_zipfile_serialization=not legacy)
    with pytest.raises(BackboneError, match=r"was not loaded: it wants to call \w+\.mkdir; only tensors"):
        load_backbone(tmp_path / "bad.pth")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
@pytest.mark.parametrize("content", [b"", b"no weights at all"])
def test_broken_files_are_named(tmp_path, suffix, content):
    (tmp_path / f"broken{suffix}").write_bytes(content)
    with pytest.raises(BackboneError, match=rf"broken\{suffix} was not loaded: \w+") as caught:
        load_backbone(tmp_path / f"broken{suffix}")
    assert "weights_only" not in str(caught.value)  # torch's own advice there is to run the file's code


def test_a_cut_off_file_is_named(tmp_path):
    path = save(tmp_path / "vit.pth", tiny_vit())
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(BackboneError, match=r"vit\.pth was not loaded"):
        load_backbone(path)


@pytest.mark.parametrize("content", [{"epoch": 3}, [1, 2], {"model": {"lr": 0.1}}])
def test_files_without_tensors_are_refused(tmp_path, content):
    with pytest.raises(BackboneError, match="holds no tensors, nor any under teacher, model, state_dict, student"):
        load_backbone(save(tmp_path / "a.pth", content))


def test_unknown_architectures_are_refused(tmp_path):
    path = save(tmp_path / "a.pth", {"features.0.weight": torch.zeros(3), "classifier.bias": torch.zeros(3)})
    with pytest.raises(BackboneError, match=r"features\.0\.weight.*Supported are: .*timm.*DINOv2.*torchvision"):
        load_backbone(path)


def test_hugging_face_names_without_a_folder_are_explained(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file(untrained_vit().encoder.state_dict(), path)
    with pytest.raises(BackboneError, match=r"give the folder that also holds its config\.json"):
        load_backbone(path)


def test_missing_weights_are_named_as_the_file_names_them(tmp_path):
    state = tiny_vit()
    del state["norm.weight"], state["blocks.0.mlp.fc2.bias"]
    with pytest.raises(BackboneError, match=r"lacks 2 weights of its encoder: blocks\.0\.mlp\.fc2\.bias, norm\.weight"):
        load_backbone(save(tmp_path / "a.pth", state))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blocks.0.mlp.fc1.weight": None}, "lacks blocks.0.mlp.fc1.weight; supported are"),
        ({"pos_embed": torch.ones(1, 7, 64)}, "6 patch positions, which is no square grid"),
        ({"norm.weight": torch.ones(3)}, r"norm\.weight has shape \(3,\), expected is \(64,\)"),
    ],
)
def test_transformers_that_do_not_fit_are_refused(tmp_path, change, message):
    state = {name: tensor for name, tensor in (tiny_vit() | change).items() if tensor is not None}
    with pytest.raises(BackboneError, match=message):
        load_backbone(save(tmp_path / "a.pth", state))


def test_heads_that_cannot_be_told_are_refused(tmp_path):
    with pytest.raises(BackboneError, match=r"dim / 64, but its embedding has 80"):
        load_backbone(save(tmp_path / "a.pth", tiny_vit(dim=80)))


def test_two_encoders_without_a_preference_are_refused(tmp_path):
    state = {f"{prefix}.{name}": tensor for prefix in ("left", "right") for name, tensor in tiny_vit().items()}
    with pytest.raises(BackboneError, match=r"several encoders: 'left\.', 'right\.'"):
        load_backbone(save(tmp_path / "a.pth", state))
