"""Which settings go together: what makes no sense, and what would have no effect, is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cuter.learn.recipe import METHODS

if TYPE_CHECKING:
    from cuter.learn.settings import LearnerSettings

Holds = Callable[["LearnerSettings"], bool]

# What can't work, whoever chose it: when it is so, what must hold, and what to tell.
NEEDS: list[tuple[Holds, Holds, str]] = [
    (
        lambda s: s.teacher == "soft-graph",
        lambda s: s.head == "label-graph",
        "the teacher soft-graph holds label nodes in place, which only the head label-graph has, not {head}",
    ),
    (
        lambda s: s.token_weight > 0,
        lambda s: s.teacher == "pseudo" and s.head == "class-attention",
        "token_weight {token_weight} needs the teacher pseudo and the head class-attention, whose tokens it holds in "
        "place, not {teacher} and {head}; set token_weight to 0 to do without",
    ),
    (
        lambda s: s.separation > 0,
        lambda s: s.head == "prototypes",
        "separation {separation} needs the head prototypes, whose class means it keeps apart, not {head}; set "
        "separation to 0 to do without",
    ),
    (
        lambda s: s.memory == "gradient" and _remembers(s),
        lambda s: s.head in ("linear", "prototypes"),
        "the memory policy gradient compares gradients of a linear layer, which the head {head} has not. Accepted: "
        "linear, prototypes",
    ),
]


def _remembers(settings: LearnerSettings) -> bool:
    return settings.memory_images > 0


def _replays(settings: LearnerSettings) -> bool:
    return _remembers(settings) and settings.replay_size > 0


def _cuts_out(settings: LearnerSettings) -> bool:
    return settings.keeper == "cut-outs"


@dataclass(frozen=True)
class Acts:
    """When a setting acts: told in words, decided by some other settings."""

    when: str
    holds: Holds
    deciding: tuple[str, ...]


WITH_MEMORY = Acts("with memory_images above 0", _remembers, ("memory_images",))
WITH_REPLAY = Acts("with memory_images and replay_size above 0", _replays, ("memory_images", "replay_size"))
WITH_CUT_OUTS = Acts("with keeper cut-outs", _cuts_out, ("keeper",))
WITH_THRESHOLDS = Acts(
    "with keeper cut-outs and selection paper",
    lambda s: _cuts_out(s) and s.selection == "paper",
    ("keeper", "selection"),
)
WITH_GUESSES = Acts(
    "with stream_unknown absent-if-sure", lambda s: s.stream_unknown == "absent-if-sure", ("stream_unknown",)
)
WITH_ATTENTION = Acts("with head class-attention", lambda s: s.head == "class-attention", ("head",))
WITH_GRAPH = Acts("with head label-graph", lambda s: s.head == "label-graph", ("head",))
WITH_PSEUDO = Acts("with teacher pseudo", lambda s: s.teacher == "pseudo", ("teacher",))
WITH_SOFT_GRAPH = Acts("with teacher soft-graph", lambda s: s.teacher == "soft-graph", ("teacher",))

ACTS = {
    "memory": WITH_MEMORY,
    "memory_power": WITH_MEMORY,
    "memory_codec": WITH_MEMORY,
    "replay_size": Acts("with memory_images above 0", lambda s: _remembers(s) or not s.replay_size, ("memory_images",)),
    "absent_below": WITH_GUESSES,
    "guesses_train": WITH_GUESSES,
    "replay_draw": WITH_REPLAY,
    "replay_weight": WITH_REPLAY,
    "replay_unknown": Acts(
        "on whole images that are replayed",
        lambda s: _replays(s) and not (_cuts_out(s) and s.fallback == "none"),
        ("memory_images", "replay_size", "keeper", "fallback"),
    ),
    "confusion_steps": Acts(
        "with replay_draw confused",
        lambda s: _replays(s) and s.replay_draw == "confused",
        ("memory_images", "replay_size", "replay_draw"),
    ),
    "localiser": Acts(
        "with keeper cut-outs or regulariser cut-energy",
        lambda s: _cuts_out(s) or s.regulariser == "cut-energy",
        ("keeper", "regulariser"),
    ),
    "cutout_shape": WITH_CUT_OUTS,
    "cutout_rim": Acts(
        "with keeper cut-outs and cutout_shape patches or auto",
        lambda s: _cuts_out(s) and s.cutout_shape != "boxes",
        ("keeper", "cutout_shape"),
    ),
    "selection": WITH_CUT_OUTS,
    "fallback": WITH_CUT_OUTS,
    "tau1": WITH_THRESHOLDS,
    "tau2": WITH_THRESHOLDS,
    "alpha": Acts("with a regulariser", lambda s: s.regulariser != "none", ("regulariser",)),
    "prototype_scores": Acts("with head prototypes", lambda s: s.head == "prototypes", ("head",)),
    "attention_tokens": WITH_ATTENTION,
    "attention_sees": WITH_ATTENTION,
    "shared_lr": Acts(
        "with head class-attention or label-graph", lambda s: s.head in ("class-attention", "label-graph"), ("head",)
    ),
    "graph_nodes": WITH_GRAPH,
    "word_vectors": WITH_GRAPH,
    "word_dim": WITH_GRAPH,
    "distil_weight": Acts(
        "with teacher distil or soft-graph", lambda s: s.teacher in ("distil", "soft-graph"), ("teacher",)
    ),
    "pseudo_threshold": WITH_PSEUDO,
    "pseudo_rate": WITH_PSEUDO,
    "node_weight": WITH_SOFT_GRAPH,
    "relation_weight": WITH_SOFT_GRAPH,
}


def check_combination(settings: LearnerSettings) -> None:
    """Raise `ValueError` where settings contradict each other, or where one that somebody chose can't have an effect.

    A saved configuration holds every field, so a choice is told by its value: one that is neither the method's nor the
    default.
    """
    values = settings.model_dump()
    for is_so, holds, reason in NEEDS:
        if is_so(settings) and not holds(settings):
            raise ValueError(reason.format(**values))
    usual = METHODS[settings.method].choices
    for field, acts in ACTS.items():
        if acts.holds(settings) or values[field] == usual.get(field, type(settings).model_fields[field].default):
            continue
        here = ", ".join(f"{name} is {values[name]}" for name in acts.deciding)
        raise ValueError(f"{field} {values[field]} would have no effect: it acts only {acts.when}, but {here}")
