"""A model in the terminal and as a picture: its versions, what it knows, what its memory holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from rich.console import RenderableType
from rich.text import Text

from cuter.learn.learner import Learner
from cuter.models.description import Description
from cuter.models.teaching import Outline
from cuter.models.versions import ModelFolder, Version
from cuter.show.narrow import FoldedTable
from cuter.show.pictures import THUMBNAIL, contact_sheet, fitted_size
from cuter.show.table import NOTHING, number, plain_table, terminal
from cuter.storage import bytes_in

SHEET_ITEMS = 80
NAMED = 8  # labels in a sentence


def versions_table(model: ModelFolder) -> FoldedTable:
    """Return the versions of a model, the newest first."""
    index = model.index
    rows = [
        [
            f"{'→ ' if version.number == index.current else '  '}{version.number}",
            local_time(version.created),
            version.origin if version.parent is None else f"{version.origin}, from version {version.parent}",
            f"{version.classes:,}",
            f"{version.images:,}",
            number(version.figures.get("map")),
            size_text(bytes_in(model.folder_of(version))),
        ]
        for version in reversed(index.versions)
    ]
    head = ("version", "made", "how", "classes", "images", "mAP", "size")
    caption = "→ is the one in use; mAP on images that were held back."
    return terminal(plain_table(head, rows, caption=caption, text_columns=3))


def version_dict(version: Version, current: int) -> dict[str, object]:
    """Return a version for JSON."""
    return version.model_dump(mode="json", exclude={"folder", "lesson"}) | {"current": version.number == current}


def outline_parts(outline: Outline, folder: Path) -> Iterator[RenderableType]:
    """Return what a model is about to be taught: its labels, the new ones first, and what has changed."""
    base = f"version {outline.version.number} of {folder}" if outline.version else f"a new model in {folder}"
    yield Text(f"{len(outline.train):,} images to learn, {len(outline.held_back):,} held back; goes on from {base}")
    rows = [[name, "new", f"{count:,}", NOTHING] for name, count in outline.new.items()]
    rows += [[name, "known", f"{count:,}", f"{outline.before.get(name, 0):,}"] for name, count in outline.known.items()]
    yield terminal(plain_table(("label", "", "images now", "learned before"), rows, text_columns=2))
    for new, old in outline.alike.items():
        yield Text(f"warning: the new label {new!r} differs from {old!r} only in case: they are two labels", "yellow")
    if outline.done:
        yield Text(f"{outline.done:,} of the images were learned before it was stopped: it goes on from there")
    if outline.again:
        yield Text(f"{outline.again:,} of the images are in the model's memory already")
    if outline.absent:
        some = ", ".join(outline.absent[:NAMED]) + (" …" if len(outline.absent) > NAMED else "")
        yield Text(f"{len(outline.absent)} labels of the model are not in these images, and are kept by replay: {some}")


def description_tables(found: Description) -> list[FoldedTable]:
    """Return what a model is, and its classes."""
    learner, memory = found.learner, found.learner.memory
    calibration = learner.calibration
    facts = {
        "method": found.method,
        "backbone": f"{learner.backbone.name}, {learner.backbone.image_size}×{learner.backbone.image_size} pixels",
        "classes": f"{len(learner.labels):,}",
        "images learned": f"{learner.images:,}" if learner.images else "not counted",
        "steps": f"{learner.steps:,}",
        "memory": f"{learner.settings.memory.kind}: {len(memory):,} items of "
        f"{len({item.id for item in memory.items}):,} images, {memory.fill:.0%} full",
        "probabilities": f"calibrated on {calibration.images:,} images" if calibration.images else "by the closed form",
        "size on disk": size_text(found.bytes[0]) + (f", {size_text(found.bytes[1])} in all" if found.version else ""),
        **({"version": _version_text(found)} if found.version else {}),
        "settings": ", ".join(f"{name} {value}" for name, value in found.settings.items()) or "those of the method",
    }
    rows = [[name, f"{images:,}", f"{held:,}", f"{score:.2f}"] for name, (images, held, score) in found.classes.items()]
    head = ("class", "images learned", "in memory", "score at 50 %")
    tables = (
        plain_table(("", ""), list(facts.items()), text_columns=2),
        plain_table(head, rows),
    )
    return [terminal(table) for table in tables]


def memory_sheet(learner: Learner, title: str) -> Image.Image:
    """Return a contact sheet of what memory holds, one item of each class by turns, with labels and ids.

    The learner's generator goes on by that, so it should not learn afterwards.
    """
    names = learner.labels.names
    cells = []
    for item in sorted(learner.memory.sample_evenly(SHEET_ITEMS), key=lambda item: (item.classes, item.id)):
        image = Image.fromarray(item.picture.permute(1, 2, 0).numpy())
        labels = ", ".join(names[column] for column in item.labels.nonzero().flatten().tolist()) or "no label"
        size = fitted_size(image.size, (THUMBNAIL[0], THUMBNAIL[1]))
        cells.append((image.resize(size), f"{labels} · {Path(item.id).name}"))
    return contact_sheet(cells, title, max_regions=0)


def size_text(count: int) -> str:
    """Write a number of bytes."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


def local_time(moment: datetime) -> str:
    """Write a moment in the time of this machine."""
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def _version_text(found: Description) -> str:
    version = found.version
    assert version is not None
    others: Sequence[int] = [one.number for one in found.versions if one.number != version.number]
    beside = f"; kept as well: {', '.join(map(str, others))}" if others else ""
    return f"{version.number} of {local_time(version.created)}, {version.origin}{beside}"
