"""Original vision transformers: converted models give what an independent transformer in plain torch gives."""

import argparse

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from cuter.backbone import load_backbone

DIM = 128


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(b, n, d))


class Scale(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(torch.rand(dim))

    def forward(self, x):
        return x * self.gamma


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, scaled):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim, eps=1e-6), Attention(dim, heads)
        self.norm2, self.mlp = nn.LayerNorm(dim, eps=1e-6), Mlp(dim)
        if scaled:
            self.ls1, self.ls2 = Scale(dim), Scale(dim)

    def forward(self, x):
        x = x + getattr(self, "ls1", nn.Identity())(self.attn(self.norm1(x)))
        return x + getattr(self, "ls2", nn.Identity())(self.mlp(self.norm2(x)))


class PatchEmbed(nn.Module):
    def __init__(self, dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)


class PlainViT(nn.Module):
    """A vision transformer with timm's names, and on request DINOv2's layer scale and registers, or DeiT's token."""

    def __init__(self, *, dim=DIM, heads=2, depth=2, patch=8, side=4, scaled=False, registers=0, distilled=False):
        super().__init__()
        extra = 1 + distilled
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, side * side + extra, dim))
        if distilled:
            self.dist_token = nn.Parameter(torch.randn(1, 1, dim))
        if scaled:
            self.mask_token = nn.Parameter(torch.zeros(1, dim))
        if registers:
            self.register_tokens = nn.Parameter(torch.randn(1, registers, dim))
        self.patch_embed = PatchEmbed(dim, patch)
        self.blocks = nn.ModuleList(Block(dim, heads, scaled) for _ in range(depth))
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):  # else a swap of two norms would go unseen
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.uniform_(module.bias, -0.5, 0.5)

    def forward(self, pixels):
        x = self.patch_embed.proj(pixels).flatten(2).transpose(1, 2)
        first = [self.cls_token, self.dist_token] if hasattr(self, "dist_token") else [self.cls_token]
        x = torch.cat([token.expand(len(x), -1, -1) for token in first] + [x], dim=1) + self.pos_embed
        if hasattr(self, "register_tokens"):
            x = torch.cat([x[:, :1], self.register_tokens.expand(len(x), -1, -1), x[:, 1:]], dim=1)
        for block in self.blocks:
            before = x
            x = block(x)
        last = self.blocks[-1]
        keys = last.attn.qkv(last.norm1(before)).chunk(3, dim=-1)[1]
        return self.norm(x), keys


@pytest.fixture(autouse=True)
def seed():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def check_same(path, model, pooling="class token"):
    """Load the file and compare it with the model; return the backbone."""
    backbone = load_backbone(path).eval()
    batch = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        tokens, keys = model((batch - backbone.mean) / backbone.std)
        features = backbone(batch)
    n = features.grid[0] * features.grid[1]
    embedding = tokens[:, 0] if pooling == "class token" else tokens[:, -n:].mean(dim=1)
    torch.testing.assert_close(features.patches, keys[:, -n:], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(features.embedding, embedding, atol=1e-5, rtol=1e-4)
    assert "ImageNet" in str(backbone.report)
    return backbone


def renamed(state, prefix):
    return {prefix + name: tensor for name, tensor in state.items()}


def test_timm(tmp_path):
    model = PlainViT()
    torch.save(model.state_dict() | {"head.weight": torch.zeros(5, DIM)}, tmp_path / "vit.pth")
    backbone = check_same(tmp_path / "vit.pth", model)
    assert backbone.report.left_over == ("head.weight",)
    assert (backbone.image_size, backbone.patch_size, backbone.report.architecture) == (32, 8, "ViTModel")


def test_safetensors_in_half_precision(tmp_path):
    model = PlainViT().half().float()
    save_file({name: tensor.half() for name, tensor in model.state_dict().items()}, tmp_path / "vit.safetensors")
    backbone = check_same(tmp_path / "vit.safetensors", model)
    assert {p.dtype for p in backbone.parameters()} == {torch.float32}


def test_no_bias_on_qkv(tmp_path):
    model = PlainViT()
    for block in model.blocks:
        nn.init.zeros_(block.attn.qkv.bias)
    state = {name: tensor for name, tensor in model.state_dict().items() if not name.endswith("qkv.bias")}
    torch.save(state, tmp_path / "vit.pt")
    check_same(tmp_path / "vit.pt", model)


def test_dino_prefers_the_teacher(tmp_path):
    teacher, student = PlainViT(), PlainViT()
    content = {
        "student": renamed(student.state_dict(), "module.backbone."),
        "teacher": renamed(teacher.state_dict(), "backbone.") | {"head.mlp.0.weight": torch.zeros(2, 2)},
        "epoch": 3,
        "args": argparse.Namespace(arch="vit_small", lr=0.1),
    }
    torch.save(content, tmp_path / "dino.pth")
    assert check_same(tmp_path / "dino.pth", teacher).report.left_over == ("head.mlp.0.weight",)


def test_mae_takes_the_mean_of_its_patches(tmp_path):
    model = PlainViT()
    decoder = {"mask_token": torch.zeros(1, 1, 64), "decoder_pos_embed": torch.zeros(1, 17, 64)}
    torch.save({"model": model.state_dict() | decoder, "args": argparse.Namespace(lr=1)}, tmp_path / "mae.pth")
    backbone = check_same(tmp_path / "mae.pth", model, pooling="patch mean")
    assert backbone.report.left_over == ("decoder_pos_embed", "mask_token")
    assert "MAE" in str(backbone.report)


def mae_positions(side, dim):
    """MAE's fixed positions: the first half of the numbers counts the columns, the second half the rows."""
    omega = 1.0 / 10000 ** (np.arange(dim // 4) / (dim / 4))
    columns, rows = np.meshgrid(np.arange(side), np.arange(side))
    parts = [f(axis.reshape(-1, 1) * omega) for axis in (columns, rows) for f in (np.sin, np.cos)]
    grid = torch.tensor(np.concatenate(parts, axis=1), dtype=torch.float32)
    return torch.cat([torch.zeros(1, dim), grid])[None]


def moco_positions(side, dim):
    """MoCo v3's fixed positions: the other way round."""
    positions = mae_positions(side, dim)
    grid = positions[0, 1:].view(side, side, dim).transpose(0, 1).reshape(-1, dim)
    return torch.cat([positions[0, :1], grid])[None]


def test_mae_without_its_decoder_is_known_by_its_positions(tmp_path):
    model = PlainViT()
    model.pos_embed.data = mae_positions(4, DIM)
    torch.save({"model": model.state_dict()}, tmp_path / "mae.pth")
    check_same(tmp_path / "mae.pth", model, pooling="patch mean")


@pytest.mark.parametrize("prefixed", [True, False])
def test_moco_v3_small_has_twelve_heads(tmp_path, prefixed):
    trained, momentum = (PlainViT(dim=384, heads=12, depth=1, patch=16, side=2) for _ in range(2))
    trained.pos_embed.data = moco_positions(2, 384)
    if prefixed:
        state = renamed(trained.state_dict(), "module.base_encoder.")
        state |= renamed(momentum.state_dict(), "module.momentum_encoder.")
        state |= {"module.base_encoder.head.0.weight": torch.zeros(2, 2), "module.predictor.0.weight": torch.zeros(2)}
    else:
        state = renamed(trained.state_dict(), "module.")
    torch.save({"epoch": 300, "arch": "vit_small", "state_dict": state}, tmp_path / "vit-s.pth.tar")
    backbone = check_same(tmp_path / "vit-s.pth.tar", trained)
    if prefixed:
        assert "head.0.weight" in backbone.report.left_over
        assert "module.predictor.0.weight" in backbone.report.left_over
        assert "module.momentum_encoder.cls_token" in backbone.report.left_over


@pytest.mark.parametrize(("registers", "architecture"), [(0, "Dinov2Model"), (3, "Dinov2WithRegistersModel")])
@pytest.mark.parametrize("with_mask_token", [True, False])
def test_dinov2(tmp_path, registers, architecture, with_mask_token):
    model = PlainViT(scaled=True, registers=registers)
    state = model.state_dict()
    if not with_mask_token:
        del state["mask_token"]
    torch.save(state, tmp_path / "dinov2.pth")
    backbone = check_same(tmp_path / "dinov2.pth", model)
    assert backbone.report.architecture == architecture
    assert backbone.report.missing == (("mask_token",) if registers and not with_mask_token else ())


def test_dinov2_trained_at_518_is_used_at_224(tmp_path):
    model = PlainViT(depth=1, patch=14, side=37, scaled=True)
    torch.save(model.state_dict(), tmp_path / "dinov2.pth")
    backbone = load_backbone(tmp_path / "dinov2.pth")
    assert backbone.image_size == 224
    assert backbone(torch.rand(1, 3, 224, 224)).grid == (16, 16)


def test_distilled_deit(tmp_path):
    model = PlainViT(distilled=True)
    torch.save({"model": model.state_dict()}, tmp_path / "deit.pth")
    assert check_same(tmp_path / "deit.pth", model).report.architecture == "DeiTModel"
