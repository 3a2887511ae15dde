"""One step of DINO after the other, in a state that can be saved and continued exactly."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn

from cuter.backbone import Backbone, untrained_vit
from cuter.errors import CuterError
from cuter.learn.devices import choose_device
from cuter.pretrain.contrast import contrast_loss
from cuter.pretrain.crops import View, multi_crop
from cuter.pretrain.dino import (
    Head,
    Network,
    dino_loss,
    follow,
    health,
    koleo,
    make_teacher,
    moved_centre,
    teacher_targets,
)
from cuter.pretrain.settings import PretrainSettings

GLOBALS = 2  # large views of each image
SMALLEST = 0.05  # share of the image's area that a small view has at least
CLIP = 3.0  # norm of the gradient
LAST_LR = 0.01  # share of the learning rate that is left at the end
FROZEN = 0.01  # share of the steps in which prototypes stay as they are, as the one epoch in a hundred of the original


class Trainer:
    """Student, teacher, centre and optimiser. Everything is drawn from one generator."""

    def __init__(self, settings: PretrainSettings, total_steps: int):
        self.settings = settings
        self.total_steps = total_steps
        self.device = choose_device(settings.device)
        self.generator = torch.Generator().manual_seed(settings.seed)
        backbone = untrained_vit(
            settings.image_size,
            settings.patch_size,
            dim=settings.dim,
            depth=settings.depth,
            heads=settings.heads,
            conv_stem=settings.conv_stem,
            seed=settings.seed,
        )
        head = Head(settings.dim, settings.prototypes, settings.seed)
        self.student = Network(backbone, head).to(self.device).train()
        self.teacher = make_teacher(self.student).eval()
        self.centre = torch.zeros(settings.prototypes, device=self.device)
        self.optimizer = torch.optim.AdamW(_groups(self.student, settings.weight_decay), lr=settings.lr, fused=True)
        self.views = _views(settings)
        self.steps = 0

    @property
    def backbone(self) -> Backbone:
        """The teacher's encoder, the better one of the two."""
        return self.teacher.backbone

    def step(self, images: Tensor) -> dict[str, float]:
        """Learn from uint8 images (B, 3, H, W) and return what is worth noting."""
        progress = self.steps / self.total_steps
        rate = self.settings.lr * rising_then_falling(progress, self.settings.warmup)
        momentum = 1 - (1 - self.settings.momentum) * falling(progress)
        views = multi_crop(images.to(self.device), self.views, self.generator, self.settings.colour, self.settings.part)
        # Views of one size go through a network together.
        groups = [views[:GLOBALS], views[GLOBALS:]] if len(views) > GLOBALS else [views]
        with torch.no_grad():
            taught = self.teacher(torch.cat(groups[0]))
            targets = teacher_targets(taught.logits, self.centre, self.settings.teacher_temperature)
        guesses = [view for group in groups for view in self.student(torch.cat(group)).chunk(len(group))]
        distil = dino_loss([view.logits for view in guesses], targets.chunk(GLOBALS))
        contrast, matched = contrast_loss([view.directions for view in guesses], taught.directions.chunk(GLOBALS))
        # One view after the other: views of one image may be alike.
        apart = torch.stack([koleo(view.embeddings) for view in guesses[:GLOBALS]]).mean()
        weights = self.settings
        told_alike = weights.distil * distil + weights.contrast * contrast
        loss = told_alike + weights.spread * apart
        if not torch.isfinite(loss):
            raise CuterError(f"the loss is {loss.item()} at step {self.steps}: no weight was changed; try a smaller lr")
        self._descend(loss, rate, freeze_prototypes=progress < FROZEN)
        follow(self.teacher, self.student, momentum)
        self.centre = moved_centre(self.centre, taught.logits)
        self.steps += 1
        return {
            "loss": told_alike.item(),
            "matched": matched.item(),
            **asdict(health(targets, taught.embeddings)),
            "lr": rate,
            "momentum": momentum,
        }

    def _descend(self, loss: Tensor, rate: float, *, freeze_prototypes: bool) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if freeze_prototypes:
            self.student.head.prototypes.grad = None
        nn.utils.clip_grad_norm_(self.student.parameters(), CLIP)
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before."""
        moments = self.optimizer.state_dict()["state"]
        return {
            "steps": self.steps,
            "student": self.student.state_dict(),
            "teacher": self.teacher.state_dict(),
            "centre": self.centre,
            "optimizer": {str(index): values for index, values in moments.items()},
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to what `state_dict` gave."""
        self.student.load_state_dict(state["student"])
        self.teacher.load_state_dict(state["teacher"])
        self.centre = state["centre"].to(self.device)
        groups = self.optimizer.state_dict()["param_groups"]
        moments = {int(index): values for index, values in state["optimizer"].items()}
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.generator.set_state(state["generator"])
        self.steps = state["steps"]


def falling(progress: float) -> float:
    """Return half a cosine, from 1 to 0."""
    return (1 + math.cos(math.pi * progress)) / 2


def rising_then_falling(progress: float, warmup: float) -> float:
    """Return a straight line from 0 to 1 during the warm-up, and then half a cosine down to `LAST_LR`."""
    if progress < warmup:
        return progress / warmup
    return LAST_LR + (1 - LAST_LR) * falling((progress - warmup) / (1 - warmup))


def _views(settings: PretrainSettings) -> list[View]:
    """Return two large views, of which one is always blurred and the other sometimes solarised, and the small ones."""
    large, small = settings.crop_sizes
    return [
        View(large, (settings.crop_split, 1.0), blur=1.0),
        View(large, (settings.crop_split, 1.0), blur=0.1, solarise=0.2),
        *[View(small, (SMALLEST, settings.crop_split), blur=0.5)] * settings.local_crops,
    ]


def _groups(network: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Let weights decay, but neither biases nor scales."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    return [
        {"params": [one for one in parameters if one.ndim > 1], "weight_decay": weight_decay},
        {"params": [one for one in parameters if one.ndim <= 1], "weight_decay": 0.0},
    ]
