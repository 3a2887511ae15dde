"""What is in the world, how often, and what goes with what. Nothing here draws a pixel."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

# Goes up whenever the same seed gives other pictures or labels: rendered worlds of two versions never mix.
VERSION = 4

Split = Literal["train", "test", "unlabelled"]
SPLITS: tuple[Split, ...] = get_args(Split)

# From frequent to rare. Tasks take classes by name, five at a time as a rule, so each row has one class of each fifth
# of the alphabet: every task meets a frequent class, a rare one, and three between.
BY_FREQUENCY = (
    *("tree", "cup", "book", "cat", "lamp"),
    *("chair", "flower", "bird", "table", "leaf"),
    *("car", "house", "ball", "shoe", "key"),
    *("clock", "bottle", "fish", "spoon", "mushroom"),
    *("hat", "candle", "umbrella", "boat", "kite"),
)
CLASSES = tuple(sorted(BY_FREQUENCY))
RATIO = 28.0  # how much more often the first is drawn than the last; in images it is less, where one has two of a kind

THEMES = {
    "kitchen": ("bottle", "candle", "chair", "clock", "cup", "lamp", "spoon", "table"),
    "study": ("book", "candle", "cat", "chair", "clock", "cup", "key", "lamp", "table"),
    "hall": ("ball", "hat", "key", "lamp", "shoe", "umbrella"),
    "garden": ("ball", "bird", "cat", "chair", "flower", "leaf", "mushroom", "tree"),
    "street": ("bird", "car", "cat", "house", "shoe", "tree", "umbrella"),
    "sea": ("ball", "bird", "boat", "fish", "hat", "kite"),
}
STRAY = 0.05  # weight of a class in a theme that is not its own

THINGS = (0.36, 0.34, 0.17, 0.09, 0.04)  # how often a scene has one thing, two … five


@dataclass(frozen=True)
class Plan:
    """What a scene is to show: its theme and the class of each thing."""

    theme: str
    labels: tuple[str, ...]


def scene_generator(split: Split, number: int, seed: int = 0) -> Generator:
    """Return the source of all chance in one scene: it depends on seed, split and number alone."""
    return np.random.default_rng([seed, SPLITS.index(split), number])


def plan_scene(rng: Generator) -> Plan:
    """Draw what a scene shows. Drawing it takes the first numbers of the scene's generator."""
    theme, count, *chances = rng.random(2 + len(THINGS)).tolist()
    row = int(np.searchsorted(_THEME_EDGES, theme))
    things = 1 + int(np.searchsorted(_THING_EDGES, count))
    chosen = np.searchsorted(_CLASS_EDGES[row], chances[:things])
    return Plan(tuple(THEMES)[row], tuple(CLASSES[i] for i in chosen.tolist()))


def plan_close_up(rng: Generator) -> Plan:
    """Draw what a scene of a single thing shows, of all classes alike, among what it goes with."""
    name = CLASSES[int(rng.random() * len(CLASSES))]
    themes = [theme for theme, members in THEMES.items() if name in members]
    return Plan(themes[int(rng.random() * len(themes))], (name,))


def _joint() -> NDArray[np.float64]:
    """Return how often a thing is of a theme (row) and a class (column).

    Themes say what goes together, `BY_FREQUENCY` says how often: rows and columns are scaled in turn until both hold.
    """
    frequency = dict(zip(BY_FREQUENCY, np.geomspace(RATIO, 1, len(BY_FREQUENCY)), strict=True))
    columns = np.array([frequency[name] for name in CLASSES])
    columns /= columns.sum()
    own = np.array([[name in members for name in CLASSES] for members in THEMES.values()])
    rows = (own / own.sum(axis=0) * columns).sum(axis=1)
    joint = np.where(own, 1.0, STRAY)
    for _ in range(100):
        joint *= (rows / joint.sum(axis=1))[:, None]
        joint *= columns / joint.sum(axis=0)
    return joint


def _edges(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the upper ends of intervals in [0, 1], one for each weight; the last is left out, so that 1 is in it."""
    return np.cumsum(weights / weights.sum(axis=-1, keepdims=True), axis=-1)[..., :-1]


_JOINT = _joint()
_THEME_EDGES = _edges(_JOINT.sum(axis=1))
_CLASS_EDGES = _edges(_JOINT)
_THING_EDGES = _edges(np.array(THINGS))
