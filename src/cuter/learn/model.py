"""The model: a backbone and a head that grows."""

from dataclasses import dataclass

from torch import Tensor, nn

from cuter.backbone import Backbone
from cuter.learn.heads import LinearHead


@dataclass(frozen=True, slots=True)
class View:
    """What one forward gives: logits (B, C), the pooled embedding (B, D), patch features (B, n, d) on a grid."""

    logits: Tensor
    embedding: Tensor
    patches: Tensor
    grid: tuple[int, int]


class Model(nn.Module):
    """f = head ∘ backbone."""

    def __init__(self, backbone: Backbone):
        super().__init__()
        self.backbone = backbone
        self.head = LinearHead(backbone.embedding_dim)

    def forward(self, images: Tensor) -> View:
        """Look at images (B, 3, H, W): uint8, or float in 0..1."""
        features = self.backbone(images)
        return View(self.head(features.embedding), features.embedding, features.patches, features.grid)
