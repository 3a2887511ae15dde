"""Data sets: one file each. A reader takes the root folder and returns a `Dataset`."""

import logging
from collections.abc import Callable
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from pydantic import ValidationError, validate_call

from cuter.errors import ConfigError, DataError, NotThereError
from cuter.registry import Registry, did_you_mean
from cuter.stream.labels import alike, has_control_characters
from cuter.stream.samples import Dataset

logger = logging.getLogger("cuter.stream")

Reader = Callable[..., Dataset]  # (root, and the reader's own options by keyword)

DATASETS: Registry[Reader] = Registry("data set", "cuter.stream.datasets", "cuter.datasets")

# What a root folder holds, as glob patterns of which one is enough: how `detect` recognises a data set.
LAYOUTS: Registry[tuple[str, ...]] = Registry("layout", "cuter.stream.datasets", "cuter.datasets")


def load_dataset(name: str, root: Path | None = None, **options: Any) -> Dataset:
    """Read a data set.

    Args:
        name: Its name: voc, coco, nuswide, folder, labelstudio, huggingface, toybox, or one of your own.
        root: Folder that holds it. Only a reader that has a default for it can do without one.
        options: Keyword arguments of its reader.

    Returns:
        Samples to train on and to test with; images are not read yet.

    Raises:
        UnknownNameError: There is no data set of this name.
        ConfigError: An option is unknown or of the wrong type, or the folder is not given.
        DataError: The folder does not hold this data set, or a class name holds control characters.

    Examples:
        >>> import tempfile
        >>> from cuter import load_dataset
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dataset = load_dataset("toybox", folder, train=3, test=2)
        >>> len(dataset.train), len(dataset.test), dataset.classes[:3]
        (3, 2, ('ball', 'bird', 'boat'))
    """
    reader = DATASETS[name]
    first, *others = signature(reader).parameters.values()
    if root is None and first.default is Parameter.empty:
        raise ConfigError(f"data set {name!r} needs --data-root, the folder that holds it")
    accepted = [parameter.name for parameter in others]
    for option in options:
        if option not in accepted:
            raise ConfigError(f"data set {name!r} has no option {option!r}.{did_you_mean(option, accepted)}")
    try:  # options from the command line are text: pydantic makes numbers of them where the reader wants numbers
        return _with_clear_names(validate_call(reader)(None if root is None else Path(root), **options))
    except ValidationError as error:
        fault = error.errors()[0]
        raise ConfigError(
            f"data set {name!r}: option {fault['loc'][0]!r}: {fault['msg']}, not {fault['input']!r}"
        ) from None


def _with_clear_names(dataset: Dataset) -> Dataset:
    """Return the data set; refuse class names that cannot be seen, and warn of those that are easily confused."""
    if bad := [name for name in dataset.classes if has_control_characters(name)]:
        raise DataError(f"data set {dataset.name!r}: class names must not hold control characters, as in {bad[0]!r}")
    if groups := alike(dataset.classes):
        logger.warning(
            "data set %r: classes differ only in case, blanks or unseen characters, and each is one of its own: %s",
            dataset.name,
            "; ".join(", ".join(map(repr, group)) for group in groups),
        )
    return dataset


def detect(root: Path) -> str:
    """Return the name of the data set whose layout the folder has."""
    root = Path(root)
    fitting = [name for name in LAYOUTS if any(any(root.glob(pattern)) for pattern in LAYOUTS[name])]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DataError(f"{root}: looks like several data sets at once ({', '.join(fitting)}): say which is meant")
    if not root.is_dir():
        raise NotThereError(f"{root}: {'a file, not a folder' if root.exists() else 'no such folder'}")
    looked_for = "; ".join(f"{name}: {' or '.join(LAYOUTS[name])}" for name in LAYOUTS)
    raise DataError(
        f"{root}: no data set recognised. Looked for {looked_for}. For images of your own, "
        f"'cuter data init {root}' writes a labels.csv to fill in"
    )
