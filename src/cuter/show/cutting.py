"""Cuts photos and writes what was found: pictures for a person, crops, and coordinates for a program."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import Image

from cuter.cut import Localiser
from cuter.cut.cutout import Cutout, cutouts
from cuter.errors import ConfigError, CuterError, NotThereError
from cuter.runs.directory import require_unused
from cuter.show.pictures import THUMBNAIL, contact_sheet, cut_picture, marked
from cuter.storage import write_json
from cuter.stream.images import FORMATS, image_suffixes
from cuter.stream.photos import read_photos

PAGE = 100  # images on a contact sheet

Progress = Callable[[int, int], None]  # (images done so far, images in all)


def find_images(paths: Sequence[Path]) -> list[Path]:
    """Return the files, and in place of a folder the image files right in it, by name."""
    suffixes = image_suffixes()
    found = []
    for path in paths:
        inside = [path]
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix.lower() in suffixes)
        if not inside:
            raise NotThereError(f"{path} holds no image. Formats read: {', '.join(FORMATS)}")
        found += inside
    return found


@contextmanager
def results_folder(out: Path) -> Iterator[None]:
    """Make a folder to write results into; one that holds something already is left alone.

    If something fails before anything was written, no empty folder stays behind.
    """
    try:
        require_unused(out)
    except ConfigError:
        raise ConfigError(f"{out} is not empty: choose another --out") from None
    is_new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise CuterError(f"{out} cannot be written: {error}") from error
    finally:
        if is_new:
            with suppress(OSError):
                out.rmdir()  # refused unless it is empty


def cut_photos(
    paths: Sequence[Path], out: Path, localiser: Localiser, max_regions: int = 2, progress: Progress | None = None
) -> dict[str, Any]:
    """Cut images; write pictures, crops, contact sheets and regions.json into `out`; return what regions.json holds.

    Boxes and crops are of the original images, whatever size the backbone encodes. What can't be read is left out,
    and listed under 'unreadable'.
    """
    sheets = ["contact-sheet", *(f"contact-sheet-{page}" for page in range(2, -(-len(paths) // PAGE) + 1))]
    names = file_names(paths, max_regions, taken=sheets)
    images: list[dict[str, Any]] = []
    thumbnails: list[tuple[Image.Image, str]] = []
    unreadable: dict[str, str] = {}
    with results_folder(out):
        for photos in read_photos(paths, localiser.backbone.image_size):
            unreadable |= {str(paths[place]): reason for place, reason in photos.unreadable.items()}
            if progress is not None:
                progress(len(images) + len(unreadable), len(paths))
            if not photos.places:
                continue
            regions = localiser.cut(photos.pixels, max_regions).to("cpu")
            for index, (place, original) in enumerate(zip(photos.places, photos.originals, strict=True)):
                found = cutouts(regions, index, original.size)
                cut_picture(original, found, paths[place].name).save(out / f"{names[place]}.png")
                thumbnails.append((marked(original, found, THUMBNAIL, details=False), paths[place].name))
                images.append(
                    {
                        "image": str(paths[place]),
                        "picture": f"{names[place]}.png",
                        "width": original.width,
                        "height": original.height,
                        "grid": list(regions.grid),
                        "regions": [_save_crop(original, one, out, names[place]) for one in found if one.found],
                    }
                )
                if progress is not None:
                    progress(len(images) + len(unreadable), len(paths))
        for sheet, start in zip(sheets, range(0, len(thumbnails), PAGE), strict=False):
            page = thumbnails[start : start + PAGE]
            contact_sheet(page, cut_summary(localiser), max_regions).save(out / f"{sheet}.png")
        report = {
            "backbone": localiser.backbone.name,
            "settings": asdict(localiser.settings),
            "rounds": max_regions,
            "images": images,
            "unreadable": unreadable,
        }
        write_json(out / "regions.json", report)
    return report


def _save_crop(original: Image.Image, one: Cutout, out: Path, name: str) -> dict[str, Any]:
    file = f"{name}-{one.number}.png"
    original.crop(one.box).save(out / file)
    return {"round": one.number, "box": list(one.box), "score": one.score, "seed": one.seed, "crop": file}


def cut_summary(localiser: Localiser) -> str:
    """Say in a line which backbone is cut with which settings, and why these."""
    name, chosen = localiser.backbone.name, localiser.settings
    centre = "centred" if chosen.centre else "not centred"
    cut = f"tau {chosen.tau:g}, {centre}, self-loops {chosen.self_loop_weight:g}"
    return f"{short_name(name)}: {chosen.features}, {cut} ({chosen.origin})"


def short_name(backbone: str) -> str:
    """Return the last part of a path; a hub id or a short name stays whole."""
    path = Path(backbone).expanduser()
    return path.resolve().name if path.exists() else backbone


def file_names(paths: Sequence[Path], max_regions: int, taken: Sequence[str]) -> list[str]:
    """Return a name for each image, such that neither its picture nor a crop takes the file of another.

    That is the image's own name without its ending, or NAME_2, NAME_3 … where something else is called so already:
    'a.jpg' beside 'a.png', but also 'a-1.jpg' beside the first crop of 'a.jpg'.
    """
    used = {name.casefold() for name in taken}  # some systems take 'A.png' and 'a.png' for the same file
    names = []
    for path in paths:
        for candidate in itertools.chain([path.stem], (f"{path.stem}_{number}" for number in itertools.count(2))):
            files = {candidate.casefold(), *(f"{candidate}-{turn + 1}".casefold() for turn in range(max_regions))}
            if not files & used:
                break
        used |= files
        names.append(candidate)
    return names
