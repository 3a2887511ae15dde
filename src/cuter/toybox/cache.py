"""The toybox on disk, in the layout that the data set 'folder' reads."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from cuter.cache import made_once
from cuter.toybox import draw_scene
from cuter.toybox.scene import Scene
from cuter.toybox.world import Split

Progress = Callable[[int, int], None]  # (scenes drawn so far, scenes in all)

QUALITY = 92


def render_toybox(
    root: Path,
    train: int,
    test: int,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
    *,
    close_ups: bool = False,
) -> None:
    """Draw scenes into the folder `root`, unless it is there: a folder of this name is always whole.

    It gets train.jsonl and test.jsonl with paths, labels and boxes, the pictures under images/, and under masks/ for
    each of them a PNG of the same name whose grey value k marks the visible pixels of the k-th box. With `close_ups`,
    scenes to train on are of one large thing each.
    """
    with made_once(root) as folder:
        if folder is None:
            return
        done = 0
        counts: dict[Split, int] = {"train": train, "test": test}
        for split, count in counts.items():
            drawn: Split = "unlabelled" if close_ups and split == "train" else split
            for kind in ("images", "masks"):
                (folder / kind / split).mkdir(parents=True)
            with (folder / f"{split}.jsonl").open("w", encoding="utf-8") as rows:
                for number in range(count):
                    row = _write(folder, f"{split}/{number:06d}", draw_scene(drawn, number, seed))
                    rows.write(json.dumps(row) + "\n")
                    done += 1
                    progress(done, train + test)


def _write(folder: Path, name: str, drawn: Scene) -> dict[str, Any]:
    """Write a scene's picture and masks, and return its row of the annotation file."""
    path = f"images/{name}.jpg"
    drawn.image.save(folder / path, quality=QUALITY, subsampling=0)
    Image.fromarray(drawn.numbers).save(folder / f"masks/{name}.png", compress_level=1)
    boxes = [[thing.label, *thing.box] for thing in drawn.things]
    return {"path": path, "labels": sorted(drawn.labels), "boxes": boxes}
