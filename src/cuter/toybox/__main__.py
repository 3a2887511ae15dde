"""What the world holds: `python -m cuter.toybox` tells its statistics, and with --sheet FILE draws it."""

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from rich.console import Console
from rich.table import Table

from cuter.toybox.sheet import contact_sheet
from cuter.toybox.world import BY_FREQUENCY, Plan, plan_scene, scene_generator

PAIRS = 8
LEAST = 20  # scenes with both, for a pair to be told


def main() -> None:
    """Tell how often each class occurs and what goes together, from the plans of many scenes; draw the sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=20_000, help="how many scenes to count (default: 20000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sheet", type=Path, metavar="FILE", help="draw a contact sheet into this file")
    given = parser.parse_args()
    if given.sheet is not None:
        contact_sheet(given.seed).save(given.sheet, optimize=True)
        return
    plans = [plan_scene(scene_generator("train", number, given.seed)) for number in range(given.scenes)]
    Console().print(*_tables(plans), sep="\n")


def _tables(plans: Sequence[Plan]) -> tuple[str, Table, Table]:
    labels = [sorted(set(plan.labels)) for plan in plans]
    images = Counter(name for names in labels for name in names)
    together = Counter(pair for names in labels for pair in combinations(names, 2))
    lifts = {
        pair: count * len(plans) / (images[pair[0]] * images[pair[1]])
        for pair, count in together.items()
        if count >= LEAST
    }
    classes = Table("class", "scenes", "share")
    for name in BY_FREQUENCY:
        classes.add_row(name, f"{images[name]:,}", f"{images[name] / len(plans):.1%}")
    pairs = Table("pair", "scenes", "times as often as by chance")
    ordered = sorted(lifts, key=lambda pair: -lifts[pair])
    for pair in (*ordered[:PAIRS], *ordered[-PAIRS:]):
        pairs.add_row(" + ".join(pair), f"{together[pair]:,}", f"{lifts[pair]:.2f}")
    counts = images.values()
    facts = (
        f"{len(plans):,} scenes, {sum(counts) / len(plans):.2f} classes and "
        f"{sum(len(plan.labels) for plan in plans) / len(plans):.2f} things in each; "
        f"the most frequent class is in {max(counts) / min(counts):.1f} times as many as the rarest"
    )
    return facts, classes, pairs


if __name__ == "__main__":
    main()
