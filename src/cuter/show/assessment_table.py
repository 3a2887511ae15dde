"""A figure of the paper for which nothing is learned: backbones are assessed as they are, each once."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

from cuter.errors import ConfigError
from cuter.lock import claim, owner
from cuter.runs.config import with_absolute_path
from cuter.settings import validated
from cuter.show.assess import assess, combine
from cuter.show.assess_report import assessment_markdown, plot
from cuter.show.cutting import Progress
from cuter.show.style import save_figure
from cuter.show.suite_folder import made_by, stamp
from cuter.storage import write_json, write_text
from cuter.stream.datasets import load_dataset
from cuter.tables.jobs import Request
from cuter.tables.suite import SUITES, scale_of

FOLDER = SUITES / "assess"
PAUSE = 0.5  # seconds between two looks whether somebody else has finished


class Assessment(BaseModel):
    """What is looked at; any of it can be set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    needs: str
    dataset: str
    dataset_options: dict[str, str] = {}
    images: int = Field(200, ge=1)
    split: Literal["train", "test"] = "train"
    seed: int = 0  # of the draw of images
    max_regions: int = Field(2, ge=1)


@dataclass(frozen=True)
class Assessed:
    """Backbones that were asked for, what is looked at, and where it is."""

    name: str
    what: Assessment
    request: Request
    backbones: tuple[str, ...]
    out: Path

    @property
    def folder(self) -> Path:
        """Where table and figure are."""
        return self.out / f"{self.name}-{self.request.scale}"

    def place(self, backbone: str) -> Path:
        """Where one backbone is assessed, found by all that decides the result."""
        root = self.request.data_root and str(self.request.data_root.expanduser().resolve())
        deciding = [with_absolute_path(backbone), root, self.what.model_dump(exclude={"title", "needs"})]
        digest = hashlib.sha256(json.dumps(deciding, sort_keys=True).encode()).hexdigest()
        return self.out / "assessments" / f"{Path(backbone).name}-{digest[:12]}"

    def finished(self, backbone: str) -> dict[str, Any] | None:
        """Return what is known of a backbone, if it was assessed to the end."""
        file = self.place(backbone) / "assessment.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def assessment_names() -> list[str]:
    """Return the names of all figures that are assessments."""
    return sorted(file.name.removesuffix(".yaml") for file in FOLDER.iterdir() if file.name.endswith(".yaml"))


def load_assessment(name: str, scale: str = "full", settings: dict[str, Any] | None = None) -> Assessment:
    """Read what is looked at in a scale, with settings over it."""
    fields = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    chosen = scale_of(name, fields.pop("scales"), scale)
    return validated(Assessment, fields | chosen | (settings or {}))


def prepare_assessment(name: str, request: Request, backbones: Sequence[str], out: Path) -> Assessed:
    """Check what is asked for; nothing is written."""
    if request.only or request.skip:
        raise ConfigError(f"{name} has no rows of its own: --only and --skip have no effect, each --backbone is a row")
    if not backbones:
        raise ConfigError(f"{name} needs --backbone, repeated for each to compare")
    what = load_assessment(name, request.scale, dict(request.settings))
    return Assessed(name, what, request, tuple(dict.fromkeys(backbones)), out.expanduser().resolve())


def carry_out_assessment(asked: Assessed, progress: Progress, say: Callable[[str], None]) -> None:
    """Assess all backbones that are not assessed yet, one after the other; a stop costs the one under way."""
    what = asked.what
    left = [backbone for backbone in asked.backbones if asked.finished(backbone) is None]
    if not left:
        return
    dataset = load_dataset(what.dataset, asked.request.data_root, **what.dataset_options)
    for number, backbone in enumerate(left):
        say(f"{backbone} ({number + 1} of {len(left)})")
        place = asked.place(backbone)
        unfinished = place.with_name(f".{place.name}")
        with _claimed(place.with_name(f".{place.name}.lock"), say):
            if asked.finished(backbone) is not None:
                continue  # somebody else has done it meanwhile
            shutil.rmtree(unfinished, ignore_errors=True)  # of an earlier stop
            assess(
                [backbone],
                dataset,
                unfinished,
                images=what.images,
                max_regions=what.max_regions,
                split=what.split,
                seed=what.seed,
                device=asked.request.device,
                progress=progress,
            )
            unfinished.rename(place)


@contextmanager
def _claimed(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock; as long as somebody else has it, wait."""
    if (lock := claim(path)) is None:
        say(f"{owner(path)} is at it; waiting")
        while lock is None:
            time.sleep(PAUSE)
            lock = claim(path)
    with lock:
        yield


def write_assessment(asked: Assessed, command: str) -> dict[str, Any] | None:
    """Write table and figure of all backbones that are assessed; None if there is none."""
    found = [report for backbone in asked.backbones if (report := asked.finished(backbone)) is not None]
    if not found:
        return None
    report = combine(found) | {"title": asked.what.title} | stamp(command)
    asked.folder.mkdir(parents=True, exist_ok=True)
    write_json(asked.folder / "results.json", report)
    write_text(asked.folder / "table.md", f"{assessment_markdown(report)}\n{made_by(report)}")
    if report["reference"]:
        save_figure(plot(report["rows"]), asked.folder / "fiedler-ap50")
    return report
