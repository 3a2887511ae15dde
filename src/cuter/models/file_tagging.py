"""Tags of many files in one file: killed at any moment and begun again, it comes out the same to the byte."""

from __future__ import annotations

import filecmp
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import cuter
from cuter.errors import ConfigError, CuterError
from cuter.learn.learner import Learner
from cuter.lock import locked_file
from cuter.models.fingerprint import fingerprint
from cuter.models.tag_formats import Columns, require_format, write_tags
from cuter.models.tagging import Asked, Tagged, tag_batches
from cuter.models.work_file import WorkFile
from cuter.runs.stopping import Interrupted, stop_on_signals
from cuter.storage import sync

NAMED = 10  # unreadable files in a summary

Draw = Callable[[Tagged], None]
Progress = Callable[[int], None]  # (images done so far, those of an earlier call included)


@dataclass
class TagSummary:
    """What became of the files: how many, how many of them could not be read, and why the first of these."""

    images: int = 0
    unreadable: int = 0
    reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    tagged: int = 0  # in this call

    def add(self, error: str | None) -> None:
        """Count a file."""
        self.images += 1
        if error is not None:
            self.unreadable += 1
            self.reasons += [error] if len(self.reasons) < NAMED else []

    def as_dict(self) -> dict[str, Any]:
        """Return the figures for JSON."""
        rate = self.tagged / self.seconds if self.seconds else 0.0
        figures = {"images": self.images, "unreadable": self.unreadable}
        return figures | {"seconds": round(self.seconds, 3), "images_per_second": round(rate, 2)}


def tag_files(
    learner: Learner,
    paths: Iterable[str | Path],
    out: str | Path,
    asked: Asked | None = None,
    *,
    batch_size: int = 64,
    workers: int = 1,
    overwrite: bool = False,
    restart: bool = False,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> TagSummary:
    """Write a row for each image file into one file.

    While this is under way, rows are in OUT.part. A call that finds one there goes on after the last whole batch in it;
    the file at the end is the same to the byte, whenever the call before was stopped or killed.

    Args:
        learner: The model.
        paths: Image files, in an order that is the same each time; `ImagePaths` finds them.
        out: The file, whose suffix says how it is written: .csv, .jsonl or .parquet.
        asked: What is to be said of each, by default the labels with a probability above one half.
        batch_size: Images per forward.
        workers: Processes that decode images ahead; 0 to decode them in this one.
        overwrite: Replace a file that is there.
        restart: Begin anew, whatever is in OUT.part.
        draw: Is called with each row before it is written.
        progress: Is called after each batch.

    Returns:
        How many files there were, and how many could not be read.

    Raises:
        ConfigError: The file is there already, or what is in OUT.part is of another model, of other files, or was asked
            for otherwise; the message says which.
        CuterError: The disk refuses to take the file. What was done is kept.
        Interrupted: Ctrl-C or SIGTERM asked to stop. What was done is kept.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from cuter import Learner
        >>> from cuter.models.file_tagging import tag_files
        >>> learner = Learner.create(backbone="toybox", device="cpu")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Image.new("RGB", (40, 30)).save(f"{folder}/1.png")
        ...     summary = tag_files(learner, [f"{folder}/1.png"], f"{folder}/tags.csv", workers=0)
        ...     Path(folder, "tags.csv").read_text().splitlines()[0]
        'path,labels,probabilities,error'
        >>> summary.images, summary.unreadable
        (1, 0)
    """
    out, asked = Path(out), asked or Asked()
    kind, columns = require_format(out), Columns(asked, learner.labels.names)
    asked.require_known(learner.labels.names)
    part = out.with_name(f"{out.name}.part")
    header = asdict(asked) | {
        "model": fingerprint(learner),
        "cuter": cuter.__version__,
        "batch_size": batch_size,
        "device": learner.device.type,
        "draw": draw is not None,
    }
    _require_place(out)
    with locked_file(out):
        if out.exists() and not overwrite and (restart or not part.exists()):
            raise ConfigError(f"{out} is there already: choose another --out, or replace it with --overwrite")
        if restart:
            part.unlink(missing_ok=True)
        summary, rest = TagSummary(), iter(paths)
        with WorkFile(part, header, batch_size) as done:
            for row in done.go_on(rest):
                summary.add(row["error"])
            before, started = summary.images, time.monotonic()
            if progress is not None:
                progress(before)
            with stop_on_signals() as stop:
                for batch in tag_batches(learner, rest, asked, batch_size=batch_size, workers=workers):
                    for one in batch:
                        summary.add(one.error)
                        if draw is not None:
                            draw(one)
                    done.append([one.as_dict() for one in batch])
                    summary.tagged, summary.seconds = summary.images - before, time.monotonic() - started
                    if progress is not None:
                        progress(summary.images)
                    if stop.asked:
                        raise Interrupted
            _put_in_place(out, lambda new: write_tags(new, done.rows(), columns, kind), overwrite)
        part.unlink()
    return summary


def _require_place(out: Path) -> None:
    if out.is_dir():
        raise ConfigError(f"{out} is a folder, and no file can take its place")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CuterError(f"{out} cannot be written: {error.strerror}") from error


def _put_in_place(out: Path, write: Callable[[Path], None], overwrite: bool) -> None:
    """Write a file beside its place, and put it there when it is whole."""
    new = out.with_name(f".{out.name}.new")  # one name: what a kill leaves is replaced by the next call
    try:
        write(new)
        sync(new)
        # A call that was killed after this has left the very same file, and its rows: then there is nothing to lose.
        if out.exists() and not overwrite and not filecmp.cmp(new, out, shallow=False):
            raise ConfigError(f"{out} is there already: replace it with --overwrite")
        new.replace(out)
        sync(out.parent)
    except OSError as error:
        raise CuterError(
            f"{out} cannot be written: {error.strerror or error}. All images are done: make room, and give the same "
            "command again"
        ) from error
    finally:
        new.unlink(missing_ok=True)
