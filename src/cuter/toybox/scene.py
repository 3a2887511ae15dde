"""A scene: a backdrop, clutter, one to five things that may hide each other, and what is true about them."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from cuter.toybox.backdrop import draw_backdrop
from cuter.toybox.clutter import PIECES, clutter
from cuter.toybox.lighting import cast_shadow, light_and_shoot, out_of_focus
from cuter.toybox.paint import Sprite, paint
from cuter.toybox.sketch import Sketch
from cuter.toybox.things import KINDS
from cuter.toybox.world import Plan, Split, plan_close_up, plan_scene, scene_generator

SIZE = 128
SMALLEST, LARGEST = 0.3, 0.8  # the longer side of a thing, of the side of the scene
CLOSE = (0.55, 0.95)  # the same in a close-up
MIN_VISIBLE = 0.4  # a thing that others, or the frame, hide more of is moved, or left out
TRIES = 12
OUTSIDE = 0.15  # so much of a thing, at most, may lie beyond each edge of the frame
CROWDED = 0.8  # the boxes of all things together are at most so large, of the scene


@dataclass(frozen=True)
class Thing:
    """One thing in a scene: its class, the tight box around its visible pixels, and how much of it is visible.

    The box is x1, y1, x2, y2 in pixels from 0; x2 and y2 exclusive.
    """

    label: str
    box: tuple[int, int, int, int]
    visible: float


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture and what is true about it. `numbers` has k where the k-th thing, counted from 1, is visible, else 0."""

    image: Image.Image
    things: tuple[Thing, ...]
    numbers: NDArray[np.uint8]

    @property
    def labels(self) -> frozenset[str]:
        """The classes that the scene shows."""
        return frozenset(thing.label for thing in self.things)

    @property
    def masks(self) -> NDArray[np.bool_]:
        """The visible pixels of each thing: things × height × width."""
        return np.equal(self.numbers, np.arange(1, len(self.things) + 1)[:, None, None])


@dataclass(eq=False)
class _Layer:
    """A sprite on its way into the scene; clutter has an empty label."""

    sprite: Sprite
    label: str
    x: int = 0
    y: int = 0
    solid: int = 0  # pixels, also those that are hidden or outside

    @property
    def foot(self) -> int:
        return self.y + self.sprite.image.height


def draw_scene(split: Split, number: int, seed: int = 0) -> Scene:
    """Draw a scene: always the same one for the same split, number and seed, whatever else is drawn.

    Those of the split 'unlabelled' are what collections of photographs for pre-training mostly are: of one thing, and
    close to it.
    """
    rng = scene_generator(split, number, seed)
    if split == "unlabelled":
        return render_scene(rng, plan_close_up(rng), CLOSE)
    return render_scene(rng, plan_scene(rng))


def render_scene(rng: Generator, plan: Plan, sizes: tuple[float, float] = (SMALLEST, LARGEST)) -> Scene:
    """Draw what the plan says. A thing that finds no place where enough of it is visible is left out."""
    backdrop = draw_backdrop(rng, plan.theme, SIZE)
    light, before, shadows = rng.random(3).tolist()
    behind = [_clutter(rng) for _ in range(int(rng.integers(0, 5)))]
    in_front = [_clutter(rng) for _ in range(int(before < 0.15))]
    things = _things(rng, plan, sizes, 200 + 140 * light)
    things = _arrange(rng, things, in_front, backdrop.horizon)
    image = backdrop.image
    for layer in behind:
        image.paste(layer.sprite.image, (layer.x, layer.y), layer.sprite.image)
    image = out_of_focus(image, rng)
    for layer in (*things, *in_front):
        if shadows < 0.5 and layer.label:
            on_ground = backdrop.horizon is not None and KINDS[layer.label].place == "ground"
            cast_shadow(image, layer.sprite.image, layer.x, layer.y, on_ground)
        image.paste(layer.sprite.image, (layer.x, layer.y), layer.sprite.image)
    numbers = _numbers(things, in_front)
    truth = tuple(_truth(layer, numbers == number) for number, layer in enumerate(things, start=1))
    return Scene(light_and_shoot(image, rng), truth, numbers)


def _clutter(rng: Generator) -> _Layer:
    which, x, y = rng.random(3).tolist()
    sprite = clutter(int(which * PIECES))
    return _Layer(sprite, "", int(SIZE * x) - sprite.image.width // 2, int(SIZE * y) - sprite.image.height // 2)


def _things(rng: Generator, plan: Plan, between: tuple[float, float], light: float) -> list[_Layer]:
    sizes = rng.uniform(*between, len(plan.labels)).tolist()
    room = math.sqrt(CROWDED / max(sum(size * size for size in sizes), CROWDED))
    layers = []
    for label, size in zip(plan.labels, sizes, strict=True):
        sketch, kind = Sketch(), KINDS[label]
        kind.draw(sketch, rng)
        turn, surface = rng.uniform(-kind.lean, kind.lean), kind.draw_surface(rng)
        sprite = paint(sketch, rng, SIZE * max(size * room, SMALLEST), turn, light, surface)
        layers.append(_Layer(sprite, label, solid=int(np.count_nonzero(sprite.mask))))
    return layers


def _arrange(rng: Generator, things: list[_Layer], in_front: list[_Layer], horizon: int | None) -> list[_Layer]:
    """Place the things, the nearest last, so that enough of each is visible; leave out what finds no place."""
    placed: list[_Layer] = []
    for layer in things:
        _place(rng, layer, placed, horizon)
        placed.append(layer)
    for attempt in range(TRIES + 1):
        placed.sort(key=lambda layer: layer.foot)
        seen = np.bincount(_numbers(placed, in_front).ravel(), minlength=len(placed) + 1)[1:]
        hidden = [layer for layer, pixels in zip(placed, seen, strict=False) if pixels < MIN_VISIBLE * layer.solid]
        if not hidden:
            break
        if attempt < TRIES:
            _place(rng, hidden[0], [layer for layer in placed if layer is not hidden[0]], horizon)
        else:
            placed = [layer for layer in placed if layer not in hidden]
    return placed


def _place(rng: Generator, layer: _Layer, others: list[_Layer], horizon: int | None) -> None:
    """Choose the emptiest of three places that suit the thing, or just the first."""
    width, height = layer.sprite.image.size
    habit = KINDS[layer.label].place
    top, bottom = -OUTSIDE * height, SIZE - (1 - OUTSIDE) * height
    if horizon is not None and habit == "ground":
        top = max(top, horizon + 2 - height)
    elif horizon is not None and habit == "air":
        bottom = max(top, min(bottom, horizon - 0.4 * height))
    options: list[tuple[float, int, int]] = []
    first, *chances = rng.random(7).tolist()
    for across, down in zip(chances[::2], chances[1::2], strict=True):
        x, y = int(across * (SIZE - width) + (2 * across - 1) * OUTSIDE * width), int(top + down * (bottom - top))
        crowd = sum(_overlap(x, y, width, height, other) for other in others)
        options.append((0.0 if first < 0.35 and not options else crowd, x, y))
    _, layer.x, layer.y = min(options)


def _overlap(x: int, y: int, width: int, height: int, other: _Layer) -> float:
    across = min(x + width, other.x + other.sprite.image.width) - max(x, other.x)
    down = min(y + height, other.foot) - max(y, other.y)
    return float(max(across, 0) * max(down, 0))


def _numbers(things: list[_Layer], in_front: list[_Layer]) -> NDArray[np.uint8]:
    numbers = np.zeros((SIZE, SIZE), dtype=np.uint8)
    for number, layer in (*enumerate(things, start=1), *((0, layer) for layer in in_front)):
        mask = layer.sprite.mask
        left, top = max(-layer.x, 0), max(-layer.y, 0)
        inside = mask[top : SIZE - layer.y, left : SIZE - layer.x]
        y, x = layer.y + top, layer.x + left
        numbers[y : y + inside.shape[0], x : x + inside.shape[1]][inside] = number
    return numbers


def _truth(layer: _Layer, mask: NDArray[np.bool_]) -> Thing:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    box = int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
    return Thing(layer.label, box, int(np.count_nonzero(mask)) / layer.solid)
