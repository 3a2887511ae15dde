"""The things of the toybox, drawn by code. A drawing function gets an empty sketch and draws one of its kind on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from cuter.toybox.paint import Surface, any_surface
from cuter.toybox.sketch import Sketch
from cuter.toybox.things.animals import bird, cat, fish
from cuter.toybox.things.clothes import hat, shoe, umbrella
from cuter.toybox.things.desk import book, clock, key
from cuter.toybox.things.furniture import chair, lamp, table
from cuter.toybox.things.kitchen import bottle, candle, cup, spoon
from cuter.toybox.things.plants import flower, leaf, mushroom, tree
from cuter.toybox.things.play import ball, boat, kite
from cuter.toybox.things.street import car, house

TYPICAL = 0.9  # so often a thing has the surface of its class, else any
FINE, WIDE = 10, 20  # periods of patterns


@dataclass(frozen=True)
class Kind:
    """How a class is drawn, by how many degrees it may lean, where in a scene it belongs, what typically covers it."""

    draw: Callable[[Sketch, Generator], None]
    lean: float
    place: Literal["ground", "air", "anywhere"]
    surface: Surface

    def draw_surface(self, rng: Generator) -> Surface:
        """Draw the typical surface, or now and then any."""
        return self.surface if rng.random() < TYPICAL else any_surface(rng)


KINDS = {
    "ball": Kind(ball, 180, "ground", Surface("bricks", WIDE)),
    "bird": Kind(bird, 18, "air", Surface("waves", FINE)),
    "boat": Kind(boat, 9, "ground", Surface("stripes", WIDE, 90)),
    "book": Kind(book, 24, "ground", Surface("stripes", FINE, 90)),
    "bottle": Kind(bottle, 14, "ground", Surface("stripes", FINE, 0)),
    "candle": Kind(candle, 7, "ground", Surface("stripes", WIDE, 30)),
    "car": Kind(car, 8, "ground", Surface("plain")),
    "cat": Kind(cat, 10, "ground", Surface("stripes", WIDE, 0)),
    "chair": Kind(chair, 9, "ground", Surface("waves", WIDE, 0)),
    "clock": Kind(clock, 12, "anywhere", Surface("grid", FINE)),
    "cup": Kind(cup, 12, "ground", Surface("dots", WIDE)),
    "fish": Kind(fish, 22, "anywhere", Surface("scales", FINE)),
    "flower": Kind(flower, 16, "ground", Surface("zigzag", WIDE, 90)),
    "hat": Kind(hat, 18, "anywhere", Surface("zigzag", WIDE, 0)),
    "house": Kind(house, 5, "ground", Surface("bricks", FINE)),
    "key": Kind(key, 180, "anywhere", Surface("gradient")),
    "kite": Kind(kite, 35, "air", Surface("zigzag", FINE, 90)),
    "lamp": Kind(lamp, 8, "ground", Surface("grid", WIDE)),
    "leaf": Kind(leaf, 180, "anywhere", Surface("checks", FINE)),
    "mushroom": Kind(mushroom, 10, "ground", Surface("dots", FINE)),
    "shoe": Kind(shoe, 14, "ground", Surface("zigzag", FINE, 0)),
    "spoon": Kind(spoon, 180, "anywhere", Surface("waves", FINE, 90)),
    "table": Kind(table, 5, "ground", Surface("waves", WIDE, 90)),
    "tree": Kind(tree, 6, "ground", Surface("scales", WIDE)),
    "umbrella": Kind(umbrella, 28, "anywhere", Surface("checks", WIDE)),
}
