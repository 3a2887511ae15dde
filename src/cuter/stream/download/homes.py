"""Where data sets live on the web, and what they are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuter.errors import DataError, NotThereError, UnknownNameError
from cuter.registry import did_you_mean
from cuter.stream.download.fetch import WebFile


@dataclass(frozen=True)
class Piece:
    """A folder of a data set that is fetched and unpacked as a whole."""

    folder: str  # under the root; the archives have it inside, too
    archives: tuple[WebFile, ...]
    unpacked: int  # bytes on disk, rather too many: what is known of them, with 4 KiB for the last block of each file
    holds: Mapping[str, int]  # how many files of a pattern are in it, when it is whole
    elsewhere: tuple[str, ...] = ()  # other folders in which the reader finds it

    def lack(self, folder: Path) -> str | None:
        """Return what a folder has not of this piece, or None if it is whole."""
        for pattern, count in self.holds.items():
            found = sum(1 for _ in folder.glob(pattern))
            if found < count:
                return f"{found} of {count} {pattern}"
        return None

    def missing(self, root: Path) -> bool:
        """Say whether this piece is nowhere under the root. Half of one is refused: it is somebody's, and may stay."""
        target = root / self.folder
        places = [target, *(root / folder for folder in self.elsewhere)]
        lacks = [self.lack(place) for place in places]
        if None in lacks:
            return False
        for place, lack in zip(places, lacks, strict=True):
            if any(any(place.glob(pattern)) for pattern in self.holds) or (place == target and place.exists()):
                raise DataError(
                    f"{place} is there, but is not whole: it holds {lack}. "
                    "Move it away, and the same command fetches all of it"
                )
        return True


@dataclass(frozen=True)
class Home:
    """A data set that can be fetched."""

    pieces: tuple[Piece, ...]  # what the layout is recognised by comes last, so that a half set is not taken for one
    tasks: str  # that go well with it


VOC = "http://host.robots.ox.ac.uk/pascal/VOC/voc2007"
COCO = "http://images.cocodataset.org"  # without TLS: the name does not fit the certificate of its server

HOMES = {
    "voc": Home(
        pieces=(
            Piece(
                "VOCdevkit/VOC2007",
                archives=(
                    WebFile(f"{VOC}/VOCtrainval_06-Nov-2007.tar", 460_032_000, "c52e279531787c972589f7e41ab4ae64"),
                    WebFile(f"{VOC}/VOCtest_06-Nov-2007.tar", 451_020_800, "b6e924de25625d8de591ea690078ad9f"),
                ),
                unpacked=1_000_000_000,
                holds={
                    "JPEGImages/*.jpg": 9_963,
                    "Annotations/*.xml": 9_963,
                    "ImageSets/Main/trainval.txt": 1,
                    "ImageSets/Main/test.txt": 1,
                },
                elsewhere=("VOC2007", "."),
            ),
        ),
        tasks="5x4",
    ),
    "coco": Home(
        pieces=(
            Piece(
                "train2014",
                archives=(WebFile(f"{COCO}/zips/train2014.zip", 13_510_573_713, "0da8c0bd3d6becc4dcb32757491aca88"),),
                unpacked=14_000_000_000,
                holds={"*.jpg": 82_783},
                elsewhere=("images/train2014",),
            ),
            Piece(
                "val2014",
                archives=(WebFile(f"{COCO}/zips/val2014.zip", 6_645_013_297, "a3d79f5ed8d289b7a7554ce06a5782b3"),),
                unpacked=6_900_000_000,
                holds={"*.jpg": 40_504},
                elsewhere=("images/val2014",),
            ),
            Piece(
                "annotations",
                archives=(
                    WebFile(
                        f"{COCO}/annotations/annotations_trainval2014.zip",
                        252_872_794,
                        "0a379cfc70b0e71301e0f377548639bd",
                    ),
                ),
                unpacked=850_000_000,
                holds={"instances_train2014.json": 1, "instances_val2014.json": 1},
            ),
        ),
        tasks="8x10",
    ),
}


def home_of(name: str) -> Home:
    """Return where a data set can be fetched."""
    if name == "nuswide":
        raise NotThereError(
            "NUS-WIDE cannot be fetched: there is no official download of its images. A copy that you have is read in "
            "the layouts official, hash-list, tab-list and csv (docs/reference/formats.md): try 'cuter data check DIR'"
        )
    if name not in HOMES:
        raise UnknownNameError(f"data set {name!r} is not one that can be fetched.{did_you_mean(name, sorted(HOMES))}")
    return HOMES[name]
