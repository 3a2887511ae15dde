"""A learner's model as one function: pixels in, probabilities out."""

import copy
import math

import torch
from torch import Tensor, nn

from cuter.errors import ConfigError
from cuter.learn.calibration import EDGE
from cuter.learn.learner import Learner

LARGEST_LOGIT = math.log((1 - EDGE) / EDGE)  # a learner's scores hold no more, so neither does what is calibrated


class PortableModel(nn.Module):
    """A copy of a learner's model with its calibration inside, on the CPU and in float32.

    It looks at whole images. Regions are cut by an algorithm with as many steps as the image asks for, which is no
    fixed graph of operations.

    Args:
        learner: A learner that knows at least one class.
    """

    slope: Tensor
    offset: Tensor

    def __init__(self, learner: Learner):
        super().__init__()
        if not len(learner.labels):
            raise ConfigError("the learner knows no class yet: teach it first, and export it then")
        self.model = copy.deepcopy(learner.model).cpu().eval().requires_grad_(False)
        self.model.backbone.precision = "float32"
        self.model.backbone.set_features("tokens")  # what the cut sees is not asked for
        slope, offset = learner.calibration.coefficients(learner.labels.names)
        self.register_buffer("slope", slope.float())
        self.register_buffer("offset", offset.float())

    def forward(self, images: Tensor) -> Tensor:
        """Return probabilities (B, C) of uint8 images (B, 3, S, S) of the model's size."""
        logits = self.model.predict_logits(images).float().clamp(-LARGEST_LOGIT, LARGEST_LOGIT)
        return torch.sigmoid(self.slope * logits + self.offset)

    def probabilities(self, images: Tensor, batch_size: int = 16) -> Tensor:
        """Return the same, some images at a time and without gradients."""
        with torch.no_grad():
            return torch.cat([self(part) for part in torch.split(images, batch_size)])
