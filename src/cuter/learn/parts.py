"""From settings to the parts of a learner."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from cuter.backbone import Backbone, load_backbone
from cuter.cut import CutSettings, Localiser, cut_settings
from cuter.errors import ConfigError
from cuter.learn.confusion import Confusion
from cuter.learn.cutouts import CutOuts
from cuter.learn.heads import HEADS, Head
from cuter.learn.heads.prototypes import Prototypes
from cuter.learn.keepers import Keeper, whole_images
from cuter.learn.localise import frozen_regions, own_regions, with_regions
from cuter.learn.model import Model, View
from cuter.learn.regularisers import REGULARISERS, WEIGHTS
from cuter.learn.selection import (
    Candidates,
    Verdicts,
    as_in_published_code,
    by_thresholds,
    lacking,
    relative_to_image,
    thresholds_by_frequency,
)
from cuter.learn.separation import non_sparse_separation
from cuter.learn.settings import LEARNER, PRETRAINED, LearnerSettings
from cuter.memory import Item, Memory
from cuter.stream.augment import Augmented
from cuter.stream.batch import Batch

Localise = Callable[[Augmented, View], View]


def needs_regions(settings: LearnerSettings) -> bool:
    """Tell whether any part wants the batch to be cut."""
    return settings.keeper == "cut-outs" or settings.regulariser == "cut-energy"


def uses_localiser(settings: LearnerSettings) -> bool:
    """Tell whether regions are found by a frozen localiser."""
    return needs_regions(settings) and settings.localiser != LEARNER


def load_localiser(settings: LearnerSettings, backbone: Backbone) -> Localiser | None:
    """Return the frozen localiser, if there is one: a copy of the learner's backbone as it starts, or another."""
    if not uses_localiser(settings):
        return None
    if settings.localiser == PRETRAINED:
        return Localiser(copy.deepcopy(backbone), choose_cut(settings, backbone))
    localiser = Localiser(load_backbone(settings.localiser))
    grids = [model.image_size // model.patch_size for model in (backbone, localiser.backbone)]
    if settings.regulariser == "cut-energy" and grids[0] != grids[1]:
        raise ConfigError(
            f"the regulariser cut-energy needs regions on the learner's {grids[0]}×{grids[0]} patches, but the "
            f"localiser {settings.localiser} has {grids[1]}×{grids[1]}"
        )
    return localiser


def choose_cut(settings: LearnerSettings, backbone: Backbone) -> CutSettings:
    """Return how the learner's own features are cut: as suits the backbone, with the features that are asked for."""
    chosen = cut_settings(backbone)
    return replace(chosen, features=settings.features or chosen.features)


def make_localise(settings: LearnerSettings, cut: CutSettings, localiser: Localiser | None) -> Localise:
    """Return what adds regions to a view, where a part needs them."""
    if not needs_regions(settings):
        return lambda _, view: view

    def localise(seen: Augmented, view: View) -> View:
        rounds = settings.rounds
        found = frozen_regions(seen, localiser, rounds) if localiser else own_regions(view, cut, rounds)
        return with_regions(found, seen, view)

    return localise


def make_head(settings: LearnerSettings, dim: int, generator: torch.Generator) -> Head:
    """Return the head for embeddings of `dim` numbers."""
    return HEADS[settings.head](settings, dim, generator)


def make_regulariser(settings: LearnerSettings, head: Head) -> Callable[[View, Batch], Tensor]:
    """Return what a view and what is told of its labels should obey: α·R of the patches, λ·(reg + sep) of the head."""
    terms: list[Callable[[View, Batch], Tensor]] = []
    if settings.regulariser != "none":
        regulariser = REGULARISERS[settings.regulariser]
        alpha = WEIGHTS[settings.regulariser] if settings.alpha is None else settings.alpha
        terms.append(lambda view, _: alpha * regulariser(view.patches, view.regions))
    if isinstance(head, Prototypes) and settings.separation:
        terms.append(lambda view, told: settings.separation * non_sparse_separation(head, view.embedding, told))
    return lambda view, told: sum((term(view, told) for term in terms), start=view.logits.new_zeros(()))


def make_draw(settings: LearnerSettings, memory: Memory, confusion: Confusion) -> Callable[[int], list[Item]]:
    """Return what draws items to replay, in the step of this number."""
    count = settings.replay_size
    if settings.replay_draw == "confused":
        return lambda step: confusion.sample(count, step)
    draw = memory.sample if settings.replay_draw == "uniform" else memory.sample_evenly
    return lambda _: draw(count)


def make_keeper(settings: LearnerSettings, model: Model, memory: Memory) -> Keeper:
    """Return what decides which parts of a batch memory is offered."""
    if settings.keeper == "whole-images":
        return partial(whole_images, wants=memory.wants)

    def counts(classes: int) -> Tensor:
        held = memory.counts()
        return torch.cat([held, held.new_zeros(classes - len(held))])

    def as_printed(candidates: Candidates) -> Verdicts:
        frequency = counts(candidates.scores.shape[1])
        thresholds = thresholds_by_frequency(frequency, settings.tau1, settings.tau2)
        return by_thresholds(candidates, thresholds.to(candidates.scores))

    def as_published(candidates: Candidates) -> Verdicts:
        return as_in_published_code(candidates, lacking(counts(candidates.scores.shape[1])), memory.generator)

    return CutOuts(
        model,
        select={"paper": as_printed, "relative": relative_to_image, "published": as_published}[settings.selection],
        lacks=(lambda classes: lacking(counts(classes))) if settings.fallback == "whole-image" else None,
        wants=memory.wants,
    )
