"""Original ResNets: converted models give what an independent network in plain torch gives."""

import pytest
import torch
from torch import nn

from cuter.backbone import load_backbone


class Block(nn.Module):
    """A basic block, or a bottleneck with its stride in the middle, as torchvision names and builds them."""

    def __init__(self, before, after, stride, bottleneck):
        super().__init__()
        inner = after // 4 if bottleneck else after
        # (in, out, kernel, stride) of each convolution
        plan = [(before, inner, 1, 1), (inner, inner, 3, stride), (inner, after, 1, 1)]
        if not bottleneck:
            plan = [(before, inner, 3, stride), (inner, after, 3, 1)]
        self.steps = len(plan)
        for i, (a, b, kernel, step) in enumerate(plan, start=1):
            setattr(self, f"conv{i}", nn.Conv2d(a, b, kernel, step, kernel // 2, bias=False))
            setattr(self, f"bn{i}", nn.BatchNorm2d(b))
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x):
        shortcut = getattr(self, "downsample", nn.Identity())(x)
        for i in range(1, self.steps + 1):
            x = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(x))
            x = torch.relu(x) if i < self.steps else x
        return torch.relu(x + shortcut)


class PlainResNet(nn.Module):
    def __init__(self, bottleneck, depths=(2, 1, 1, 1)):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.stages = len(depths)
        before = 16
        for stage, depth in enumerate(depths):
            after = (32 if bottleneck else 16) * 2**stage
            blocks = []
            for block in range(depth):
                blocks.append(Block(before, after, 2 if stage and not block else 1, bottleneck))
                before = after
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                for values in (module.weight, module.running_var):
                    nn.init.uniform_(values, 0.5, 1.5)
                for values in (module.bias, module.running_mean):
                    nn.init.uniform_(values, -0.5, 0.5)

    def forward(self, pixels):
        x = nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(pixels))), 3, 2, 1)
        for stage in range(1, self.stages + 1):
            x = getattr(self, f"layer{stage}")(x)
        return x


def plain(state):
    return state | {"fc.weight": torch.zeros(5, 256), "fc.bias": torch.zeros(5)}


def moco(state):
    encoders = {f"module.base_encoder.{name}": tensor for name, tensor in plain(state).items()}
    momentum = {f"module.momentum_encoder.{name}": torch.zeros_like(tensor) for name, tensor in state.items()}
    return {"arch": "resnet50", "state_dict": encoders | momentum}


@pytest.mark.parametrize("bottleneck", [True, False])
@pytest.mark.parametrize("wrap", [plain, moco])
def test_resnet(tmp_path, bottleneck, wrap):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = PlainResNet(bottleneck).eval()
        batch = torch.rand(2, 3, 64, 96)
    torch.save(wrap(model.state_dict()), tmp_path / "resnet.pth")
    backbone = load_backbone(tmp_path / "resnet.pth").eval()
    with torch.no_grad():
        maps = model((batch - backbone.mean) / backbone.std)
        features = backbone(batch)
    assert features.grid == (2, 3)
    torch.testing.assert_close(features.patches, maps.flatten(2).transpose(1, 2), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(features.embedding, maps.mean(dim=(2, 3)), atol=1e-5, rtol=1e-4)
    assert (backbone.patch_size, backbone.image_size, backbone.features) == (32, 224, "tokens")
    assert {"fc.weight", "fc.bias"} <= set(backbone.report.left_over)
