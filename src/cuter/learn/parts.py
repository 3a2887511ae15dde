"""From settings to the parts of a learner."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import torch

from cuter.backbone import Backbone, load_backbone
from cuter.cut import CutSettings, Localiser, cut_settings
from cuter.errors import ConfigError
from cuter.learn.confusion import Confusion
from cuter.learn.cutouts import Boxes, CutOuts, Patches, Select
from cuter.learn.draws import ByClass, Confused, DrawReplay, Uniform
from cuter.learn.heads import HEADS, Head
from cuter.learn.heads.prototypes import Prototypes
from cuter.learn.keepers import Keeper, WantedVectors, WholeImages
from cuter.learn.localise import FrozenRegions, NoRegions, OwnRegions
from cuter.learn.model import Model, View
from cuter.learn.regularise import PatchTerm, SeparationTerm, SumOfTerms, Term
from cuter.learn.regularisers import WEIGHTS
from cuter.learn.selection import AsPrinted, AsPublished, Invited, Lacking, relative_to_image
from cuter.learn.settings import LEARNER, PRETRAINED, LearnerSettings
from cuter.learn.targets import AbsentIfSure, Ignored, StreamTarget
from cuter.memory import Memory
from cuter.stream.augment import Augmented

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
        return NoRegions()
    return FrozenRegions(localiser, settings.rounds) if localiser else OwnRegions(cut, settings.rounds)


def make_head(settings: LearnerSettings, dim: int, generator: torch.Generator) -> Head:
    """Return the head for embeddings of `dim` numbers."""
    return HEADS[settings.head](settings, dim, generator)


def make_regulariser(settings: LearnerSettings, head: Head) -> Term:
    """Return what a view and what is said of its labels should obey: α·R of the patches, λ·(reg + sep) of the head."""
    terms: list[Term] = []
    if settings.regulariser != "none":
        alpha = WEIGHTS[settings.regulariser] if settings.alpha is None else settings.alpha
        terms.append(PatchTerm(settings.regulariser, alpha))
    if isinstance(head, Prototypes) and settings.separation:
        terms.append(SeparationTerm(head, settings.separation))
    return SumOfTerms(terms)


def make_stream_target(settings: LearnerSettings) -> StreamTarget:
    """Return what stream images say of classes that nobody looked for."""
    return AbsentIfSure(settings.absent_below) if settings.stream_unknown == "absent-if-sure" else Ignored()


def make_draw(settings: LearnerSettings, memory: Memory, confusion: Confusion) -> DrawReplay:
    """Return what draws items to replay."""
    count = settings.replay_size
    if settings.replay_draw == "confused":
        return Confused(confusion, count)
    return Uniform(memory, count) if settings.replay_draw == "uniform" else ByClass(memory, count)


def make_keeper(settings: LearnerSettings, model: Model, memory: Memory, vectors: WantedVectors) -> Keeper:
    """Return what decides which parts of a batch memory is offered."""
    if settings.keeper == "whole-images":
        return WholeImages(vectors)
    selections: dict[str, Select] = {
        "paper": AsPrinted(memory, settings.tau1, settings.tau2),
        "relative": relative_to_image,
        "published": AsPublished(memory),
    }
    if settings.cutout_shape == "patches" and model.backbone.is_cnn:
        raise ConfigError(
            f"{model.backbone.name} is a CNN, which has no patches that could be left out: cut-outs must be boxes "
            "(cutout_shape)"
        )
    return CutOuts(
        model,
        Boxes() if settings.cutout_shape == "boxes" or model.backbone.is_cnn else Patches(settings.cutout_rim),
        selections[settings.selection],
        vectors,
        lacks=Lacking(memory) if settings.fallback == "whole-image" else None,
        invites=Invited(memory, model.backbone.image_size**2),
    )
