"""DINO: a student learns to say of a small view what its teacher says of a large one (Caron et al. 2021).

Both are a backbone with a projection head. The teacher's weights are a running mean of the student's; its output is
centred, which keeps one prototype from winning everywhere, and sharpened, which keeps all from being equal.
Numbers of equations are the paper's (arXiv:2104.14294).
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cuter.backbone import Backbone

STUDENT_TEMPERATURE = 0.1
# m in Eq. 4. The original has 0.9, for a teacher that moves slowly. In a short training it has to move faster, and a
# centre that lags behind it lets one prototype win (docs/how-to/pretrain.md).
CENTRE_MOMENTUM = 0.5

# The original head has 2048 and 256 for encoders of 384 and more dimensions, which would be most of a small model.
HIDDEN, BOTTLENECK = 512, 128


class Head(nn.Module):
    """Three layers, length 1, and the cosine with each prototype: a linear layer whose rows have length 1.

    Weights depend on the seed alone.
    """

    def __init__(self, dim: int, prototypes: int, seed: int = 0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self.layers = nn.Sequential(
                nn.Linear(dim, HIDDEN),
                nn.BatchNorm1d(HIDDEN, track_running_stats=False),
                nn.GELU(),
                nn.Linear(HIDDEN, HIDDEN),
                nn.BatchNorm1d(HIDDEN, track_running_stats=False),
                nn.GELU(),
                nn.Linear(HIDDEN, BOTTLENECK),
            )
            self.prototypes = nn.Parameter(torch.randn(prototypes, BOTTLENECK))
            for layer in self.layers:
                if isinstance(layer, nn.Linear):
                    nn.init.trunc_normal_(layer.weight, std=0.02)
                    nn.init.zeros_(layer.bias)

    def forward(self, embedding: Tensor) -> tuple[Tensor, Tensor]:
        """Map embeddings (B, D) to directions (B, BOTTLENECK) of length 1, and these to logits (B, prototypes)."""
        directions = F.normalize(self.layers(embedding), dim=1)
        return directions, F.linear(directions, F.normalize(self.prototypes, dim=1))


class Answers(NamedTuple):
    """What a network says of B images."""

    directions: Tensor  # (B, BOTTLENECK), of length 1
    logits: Tensor  # (B, prototypes)
    embeddings: Tensor  # (B, D)

    def chunk(self, views: int) -> list["Answers"]:
        """Return what it says of each of the views, which stand one after the other."""
        return [Answers(*parts) for parts in zip(*(tensor.chunk(views) for tensor in self), strict=True)]


class Network(nn.Module):
    """g = head ∘ backbone."""

    def __init__(self, backbone: Backbone, head: Head):
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, images: Tensor) -> Answers:
        """Look at images (B, 3, H, W)."""
        embeddings = self.backbone(images).embedding
        directions, logits = self.head(embeddings)
        return Answers(directions, logits, embeddings)


def make_teacher(student: Network) -> Network:
    """Return a copy that no gradient reaches."""
    return copy.deepcopy(student).requires_grad_(False)


@torch.no_grad()
def follow(teacher: Network, student: Network, momentum: float) -> None:
    """Move the teacher: θt ← λ θt + (1 - λ) θs."""
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - momentum)


def teacher_targets(logits: Tensor, centre: Tensor, temperature: float) -> Tensor:
    """Return what the student is to say, softmax((g - c) / τ): Eq. 1 for the teacher, centred."""
    return F.softmax((logits - centre) / temperature, dim=-1)


def dino_loss(student: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
    """Return the mean cross-entropy over all pairs of a target and another view of the same image (Eq. 3).

    `student` holds logits (B, prototypes) of all views, `targets` the teacher's distributions over the first of them,
    the large ones. A view is not compared with itself.
    """
    likely = [F.log_softmax(logits / STUDENT_TEMPERATURE, dim=-1) for logits in student]
    pairs = [
        -(target * log).sum(dim=-1).mean()
        for place, target in enumerate(targets)
        for view, log in enumerate(likely)
        if view != place
    ]
    return torch.stack(pairs).mean()


def koleo(embeddings: Tensor) -> Tensor:
    """Return minus the mean log distance of embeddings (B, D) of length 1 to their nearest neighbours.

    The less, the more evenly they are spread (Sablayrolles et al. 2019, and DINOv2): it keeps all images from becoming
    alike before there is anything to tell them apart by.
    """
    directions = F.normalize(embeddings, dim=1)
    cosines = (directions @ directions.T).fill_diagonal_(-1.0)  # nobody is its own neighbour
    nearest = directions[cosines.argmax(dim=1)]
    distances: Tensor = torch.linalg.vector_norm(directions - nearest, dim=1)
    return -distances.clamp(min=1e-6).log().mean()


def moved_centre(centre: Tensor, logits: Tensor) -> Tensor:
    """Return c ← m c + (1 - m) mean of the teacher's logits (Eq. 4)."""
    return CENTRE_MOMENTUM * centre + (1 - CENTRE_MOMENTUM) * logits.mean(dim=0)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether features have collapsed, by the teacher's output on a batch.

    entropy: of its distributions, on average. Near log(prototypes) it says the same of everything: nothing.
    diversity: the entropy of their mean. Near 0 it names the same prototype for everything.
    spread: the standard deviation of embeddings of length 1, times √D: 1 if they go in all directions, 0 if in one.
    """

    entropy: float
    diversity: float
    spread: float


def health(targets: Tensor, embeddings: Tensor) -> Health:
    """Look at distributions (B, prototypes) and embeddings (B, D)."""
    directions = F.normalize(embeddings, dim=1)
    return Health(
        entropy=_entropy(targets).mean().item(),
        diversity=_entropy(targets.mean(dim=0)).item(),
        spread=directions.std(dim=0, correction=0).mean().item() * embeddings.shape[1] ** 0.5,
    )


def collapse(state: Health, prototypes: int | None) -> str | None:
    """Say what is wrong with features that have collapsed; None if nothing is.

    `prototypes` is None where no term speaks of them, so that what the teacher says of them means nothing.
    """
    if state.spread < 0.05:
        return "the embeddings of all images are nearly the same"
    if prototypes is None:
        return None
    if state.diversity < 0.5:
        return "the teacher names the same prototype for all images"
    if state.entropy > 0.98 * math.log(prototypes):
        return "the teacher finds all prototypes equally likely, whatever it sees"
    return None


def _entropy(distributions: Tensor) -> Tensor:
    terms: Tensor = torch.special.entr(distributions)
    return terms.sum(dim=-1)
