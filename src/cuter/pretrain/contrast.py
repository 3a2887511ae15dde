"""A view has to find its own image among those of the batch, by what the teacher says of them.

It is MoCo v3's loss (Chen et al. 2021) with small views beside the large ones. DINO has to find out by itself which
images to tell apart, and takes long over it; here a batch says so from the first step on (docs/how-to/pretrain.md).
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

TEMPERATURE = 0.2


def contrast_loss(student: Sequence[Tensor], teacher: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the mean cross-entropy over all pairs of a view and the teacher's other views, and how many are matched.

    Both are directions of length 1 (B, d); `teacher` are those of the first views of `student`, the large ones. A view
    is matched if no other image is as near to it as its own, and is not compared with itself.
    """
    own = torch.arange(len(teacher[0]), device=teacher[0].device)
    cosines = [
        view @ other.T for place, other in enumerate(teacher) for number, view in enumerate(student) if number != place
    ]
    losses = torch.stack([F.cross_entropy(each / TEMPERATURE, own) for each in cosines])
    matched = torch.stack([(each.argmax(dim=1) == own).float().mean() for each in cosines])
    return losses.mean(), matched.mean()
