"""Two months of a small model: photos with partial labels, a new label in the second one."""

import csv
import shutil
from pathlib import Path

from cuter.models.teaching import TeachConfig
from shapes import render_shapes

FIRST, SECOND = ("circle", "cross", "diamond"), ("diamond", "star")


def make_month(folder: Path, known: tuple[str, ...], seed: int, images: int = 24) -> Path:
    """Render photos into a folder, annotated for some labels only; a quarter of them are to be held back."""
    render_shapes(folder, train=images, test=images // 4, seed=seed)
    rows = []
    for split in ("train", "test"):
        with (folder / f"{split}.csv").open(newline="", encoding="utf-8") as file:
            rows += [row | {"split": split} for row in csv.DictReader(file)]
        (folder / f"{split}.csv").unlink()
    (folder / "images").rename(folder / f"photos-{seed}")  # as of another month: other names
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "labels", "known", "split"])
        for row in rows:
            labels = [name for name in row["labels"].split(";") if name in known]
            path = row["path"].replace("images/", f"photos-{seed}/")
            writer.writerow([path, ";".join(labels), ";".join(known), row["split"]])
    return folder


def first_month(folder: Path, backbone: Path, **settings: object) -> TeachConfig:
    """Return what begins a new model of few, small images."""
    options = {"method": "cuter", "memory": {"images": 8}, "replay": {"size": 3}, "batch_size": 6, "workers": 0}
    return TeachConfig(data_root=folder, backbone=str(backbone), device="cpu", **(options | settings))


def next_month(folder: Path, **settings: object) -> TeachConfig:
    """Return what goes on with it."""
    return TeachConfig(data_root=folder, device="cpu", **({"batch_size": 6, "workers": 0} | settings))


def copied(model: Path, to: Path) -> Path:
    """Return a copy of a model."""
    shutil.copytree(model, to)
    return to
