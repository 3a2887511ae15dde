"""The things of the toybox, drawn by code. A drawing function gets an empty sketch and draws one of its kind on it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from numpy.random import Generator

from cuter.stream.toybox.sketch import Sketch
from cuter.stream.toybox.things.animals import bird, cat, fish
from cuter.stream.toybox.things.clothes import hat, shoe, umbrella
from cuter.stream.toybox.things.desk import book, clock, key
from cuter.stream.toybox.things.furniture import chair, lamp, table
from cuter.stream.toybox.things.kitchen import bottle, candle, cup, spoon
from cuter.stream.toybox.things.plants import flower, leaf, mushroom, tree
from cuter.stream.toybox.things.play import ball, boat, kite
from cuter.stream.toybox.things.street import car, house


@dataclass(frozen=True)
class Kind:
    """How a class is drawn, by how many degrees it may lean, and where in a scene it belongs."""

    draw: Callable[[Sketch, Generator], None]
    lean: float
    place: Literal["ground", "air", "anywhere"]


KINDS = {
    "ball": Kind(ball, 180, "ground"),
    "bird": Kind(bird, 18, "air"),
    "boat": Kind(boat, 9, "ground"),
    "book": Kind(book, 24, "ground"),
    "bottle": Kind(bottle, 14, "ground"),
    "candle": Kind(candle, 7, "ground"),
    "car": Kind(car, 8, "ground"),
    "cat": Kind(cat, 10, "ground"),
    "chair": Kind(chair, 9, "ground"),
    "clock": Kind(clock, 12, "anywhere"),
    "cup": Kind(cup, 12, "ground"),
    "fish": Kind(fish, 22, "anywhere"),
    "flower": Kind(flower, 16, "ground"),
    "hat": Kind(hat, 18, "anywhere"),
    "house": Kind(house, 5, "ground"),
    "key": Kind(key, 180, "anywhere"),
    "kite": Kind(kite, 35, "air"),
    "lamp": Kind(lamp, 8, "ground"),
    "leaf": Kind(leaf, 180, "anywhere"),
    "mushroom": Kind(mushroom, 10, "ground"),
    "shoe": Kind(shoe, 14, "ground"),
    "spoon": Kind(spoon, 180, "anywhere"),
    "table": Kind(table, 5, "ground"),
    "tree": Kind(tree, 6, "ground"),
    "umbrella": Kind(umbrella, 28, "anywhere"),
}
