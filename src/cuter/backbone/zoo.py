"""Short names for backbones, each with its weights.

They are in a repository of the Hugging Face hub, in an original file, or, for the one that is small, in this package.
"""

from pathlib import Path

_ORIGINAL = "https://dl.fbaipublicfiles.com"

SHORT_NAMES = {
    "toybox": str(Path(__file__).parent / "shipped" / "toybox"),  # docs/explanation/toybox-backbone.md
    "dino-vits16": "facebook/dino-vits16",
    "dino-vits8": "facebook/dino-vits8",
    "dino-vitb16": "facebook/dino-vitb16",
    "dino-vitb8": "facebook/dino-vitb8",
    "dinov2-vits14": "facebook/dinov2-small",
    "dinov2-vitb14": "facebook/dinov2-base",
    "mocov3-vits16": f"{_ORIGINAL}/moco-v3/vit-s-300ep/vit-s-300ep.pth.tar",
    "mocov3-vitb16": f"{_ORIGINAL}/moco-v3/vit-b-300ep/vit-b-300ep.pth.tar",
    "mae-vitb16": "facebook/vit-mae-base",
    # DeiT without distillation: one supervised recipe in three sizes, so that sizes can be compared.
    "supervised-vitt16": "facebook/deit-tiny-patch16-224",
    "supervised-vits16": "facebook/deit-small-patch16-224",
    "supervised-vitb16": "facebook/deit-base-patch16-224",
    "dino-resnet50": f"{_ORIGINAL}/dino/dino_resnet50_pretrain/dino_resnet50_pretrain.pth",
    "supervised-resnet50": "microsoft/resnet-50",
    "mocov3-resnet50": f"{_ORIGINAL}/moco-v3/r-50-1000ep/r-50-1000ep.pth.tar",
}
