"""NUS-WIDE, in whichever of its layouts it could be had."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from cuter.errors import ConfigError, DataError
from cuter.registry import did_you_mean
from cuter.stream.datasets import DATASETS, LAYOUTS
from cuter.stream.datasets.files import checked, numbered_lines, require_folder
from cuter.stream.datasets.finder import ImageFinder
from cuter.stream.datasets.nuswide_layouts import CONCEPTS, Line, csv_list, hash_list, official, tab_list
from cuter.stream.samples import Dataset, Sample

NAMES = ["csv", "hash-list", "official", "tab-list"]

LAYOUT = LAYOUTS.register("nuswide")(("ImageList/TrainImagelist.txt", "nus*.csv", "*[Tt]rain*.txt"))


@DATASETS.register("nuswide")
def nuswide(root: Path, layout: str | None = None, train: str | None = None, test: str | None = None) -> Dataset:
    """Read NUS-WIDE.

    The official archives are no longer served, and copies differ in form. `layout` names one of these; without it,
    it is found out:

    - `official`: `ImageList/{Train,Test}Imagelist.txt` with one path a line, and
      `Groundtruth/TrainTestLabels/Labels_<concept>_{Train,Test}.txt` with 0 or 1 a line.
    - `hash-list`: two text files with lines `path 0 1 0 …`. The columns are the 81 concepts in lexicographic order,
      or those of a file `Concepts81.txt` (any `concepts*.txt`) beside them.
    - `tab-list`: two text files with lines `path<TAB>label,label,…`.
    - `csv`: one file with the columns path, labels (`clouds;sky`, `clouds,sky` or `['clouds', 'sky']`) and split
      (train, test or val), with or without a header. Where there is no test row, val rows are the test split; where
      there are both, val rows are left out.

    `train` and `test` name the files of `hash-list` and `tab-list`; without them, these are `train.txt` and
    `test.txt` or the only files with "train" and "test" in their name. Images are looked for under `root`, then under
    `root/images` and `root/Flickr`, with as much of the listed path as exists there, so lists with the absolute paths
    of another machine work. Images without any label are left out; images that are missing on disk are not, unless
    all are missing.
    """
    require_folder(root)
    if layout is not None and layout not in NAMES:
        raise ConfigError(f"data set 'nuswide': unknown layout {layout!r}.{did_you_mean(layout, NAMES)}")
    layout = layout or _recognise(root, train)
    if layout == "official":
        concepts, lines = _official(root)
    elif layout == "csv":
        concepts, lines = None, _csv(root)
    else:
        concepts = _concepts(root) if layout == "hash-list" else None
        files = (_list_file(root, "train", train), _list_file(root, "test", test))
        lines = [hash_list(file, concepts) if concepts else tab_list(file) for file in files]
    find = ImageFinder(root, image_folders=("images", "Flickr"))
    splits = [_samples(split, find) for split in lines]
    classes = concepts or {label for sample in chain(*splits) for label in sample.labels}
    return checked(Dataset("nuswide", tuple(sorted(classes)), train=splits[0], test=splits[1]), root)


def _recognise(root: Path, train: str | None) -> str:
    if (root / "ImageList").is_dir():
        return "official"
    if train is None and any(root.glob("*.csv")):
        return "csv"
    if train is None and not any(root.glob(LAYOUT[-1])):
        raise DataError(f"{root}: not a NUS-WIDE folder. Looked for ImageList/TrainImagelist.txt, *.csv, *train*.txt")
    file = _list_file(root, "train", train)
    first = next((line.rstrip(" ") for _, line in numbered_lines(file)), "")
    if "\t" in first:
        return "tab-list"
    if first.endswith((" 0", " 1")):
        return "hash-list"
    raise DataError(f"{file} line 1: neither 'path<TAB>label,label' nor 'path 0 1 0 …', but {first[:60]!r}")


def _list_file(root: Path, split: str, name: str | None) -> Path:
    exact = root / (name or f"{split}.txt")
    if exact.is_file():
        return exact
    files = [] if name else sorted(path for path in root.glob("*.txt") if split in path.name.lower())
    if len(files) == 1:
        return files[0]
    found = f"found {', '.join(path.name for path in files)}: name one by the option {split!r}"
    raise DataError(
        f"{root}: no list for the {split} split. Looked for {exact.name}"
        + ("" if name else f" or one file *{split}*.txt; {found if files else 'found none'}")
    )


def _concepts(root: Path) -> tuple[str, ...]:
    files = sorted(path for path in root.glob("*.txt") if path.name.lower().startswith("concepts"))
    return tuple(line.strip() for _, line in numbered_lines(files[0])) if files else CONCEPTS


def _official(root: Path) -> tuple[tuple[str, ...], list[Iterable[Line]]]:
    labels = root / "Groundtruth" / "TrainTestLabels"
    prefix, suffix = "Labels_", "_Train"
    concepts = sorted(path.stem[len(prefix) : -len(suffix)] for path in labels.glob(f"{prefix}*{suffix}.txt"))
    if not concepts:
        raise DataError(f"{labels}: no labels. Looked for files Labels_<concept>_Train.txt")
    lists = root / "ImageList"
    return tuple(concepts), [
        official(lists / f"{split}Imagelist.txt", labels, split, concepts) for split in ("Train", "Test")
    ]


def _csv(root: Path) -> list[Iterable[Line]]:
    files = sorted(root.glob("*.csv"))
    if len(files) != 1:
        found = ", ".join(path.name for path in files) or "none"
        raise DataError(f"{root}: looked for one CSV file with the columns path, labels, split; found {found}")
    rows = list(csv_list(files[0]))
    test = "test" if any(split == "test" for split, _ in rows) else "val"
    return [[line for split, line in rows if split == wanted] for wanted in ("train", test)]


def _samples(lines: Iterable[Line], find: ImageFinder) -> list[Sample]:
    return [
        Sample(id=path.strip().replace("\\", "/"), path=find(path, where), labels=labels)
        for where, path, labels in lines
        if labels
    ]
