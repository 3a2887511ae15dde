"""Next month: a model goes on learning from new images, new labels included, and becomes a new version."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from cuter.errors import CheckpointError, ConfigError, DataError
from cuter.learn.learner import Learner
from cuter.learn.saved import MODEL_INDEX
from cuter.learn.settings import LearnerSettings
from cuter.models.held_back import HeldBack
from cuter.models.versions import HELD_BACK, LEARNER, ModelFolder, Version
from cuter.runs.config import with_learner
from cuter.runs.directory import Directory
from cuter.runs.stopping import Interrupted, stop_on_signals
from cuter.settings import Choices, Role, Settings, expanded
from cuter.storage import load_state
from cuter.stream.datasets import DATASETS, load_dataset
from cuter.stream.loading import Loaded, load_batches
from cuter.stream.samples import Dataset, Sample, class_counts, pick
from cuter.stream.tasks import StreamSample, in_batches

logger = logging.getLogger("cuter.teach")

TEACHING = "teaching"  # the folder, within the model's, of what is being learned
MOST_HELD_BACK = 1000  # images of one month that are measured and offered to those held back
NAMED = 3  # of unreadable files

Watch = Callable[[int, int, float], None]  # images done, images in all, loss


class TeachConfig(Settings):
    """What a model is taught, and how. Settings of the learner are for a model that is new."""

    dataset: Annotated[str, Choices(DATASETS), Role.COMMON] = Field(
        "folder", description="Data set; folder reads your own CSV or JSON lines."
    )
    data_root: Annotated[Path | None, Role.COMMON] = Field(None, description="Folder that holds the new images.")
    dataset_options: Annotated[dict[str, str], Role.COMMON] = Field(
        {}, description="Option of the data set's reader, NAME=VALUE; may be repeated: test_share=0.1."
    )
    backbone: Annotated[str | None, Role.COMMON] = Field(
        None, description="Of a new model: short name, hub id, local folder or original checkpoint file."
    )
    batch_size: Annotated[int, Role.COMMON] = Field(12, ge=1, le=10_000, description="Images in each step.")
    rehearsals: Annotated[int, Role.COMMON] = Field(
        20, ge=0, le=1_000_000, description="Steps on memory alone afterwards: few images are few steps."
    )
    workers: Annotated[int, Role.COMMON, Role.EXECUTION] = Field(
        1, ge=0, le=256, description="Processes that decode images ahead (0: decode in this one)."
    )
    max_unreadable: Annotated[float, Role.COMMON, Role.EXECUTION] = Field(
        0.1, ge=0, le=1, description="Stop when a larger share of the images is unreadable."
    )
    device: Annotated[str, Role.COMMON, Role.EXECUTION] = Field("auto", description="cpu, cuda, mps, or auto.")
    checkpoint_minutes: Annotated[float, Role.EXECUTION] = Field(
        1.0, ge=0, le=100_000, description="Checkpoint after this many minutes."
    )
    learner: LearnerSettings = Field(default_factory=LearnerSettings, description="Settings of a new model.")

    @classmethod
    def prepared(cls, values: Any) -> dict[str, Any]:
        """Bring values into the form in which the fields of the learner are under 'learner'."""
        return expanded(cls, with_learner(values))


@dataclass(frozen=True)
class Outline:
    """What a model is about to be taught.

    Args:
        version: The version that goes on learning; None for a new model.
        train: Images to learn from.
        held_back: Images to calibrate and measure with.
        new: Labels that the model does not know yet, with the number of images that show them.
        known: Labels that it knows, likewise.
        before: How many images of each label it has learned so far.
        absent: Labels that it knows and that the new images do not have.
        alike: New labels that differ from another only in case, with that one.
        again: Images to learn from that its memory holds already.
        done: Images that were learned before it was stopped.
    """

    version: Version | None
    train: Sequence[Sample]
    held_back: Sequence[Sample]
    new: dict[str, int]
    known: dict[str, int]
    before: dict[str, int]
    absent: list[str]
    alike: dict[str, str]
    again: int
    done: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "version": self.version and self.version.number,
            "images": len(self.train),
            "held_back": len(self.held_back),
            "new_labels": self.new,
            "known_labels": self.known,
            "absent_labels": self.absent,
            "labels_alike": self.alike,
            "images_in_memory": self.again,
            "images_done": self.done,
        }


@dataclass(frozen=True)
class Taught:
    """What became of it.

    Args:
        version: The new version.
        outline: What it was to learn.
        images: How many images were learned; 0 where that version was there already.
        skipped: Why images could not be read, by path.
        seconds: How long it took, since it was started last.
    """

    version: Version
    outline: Outline
    images: int
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return self.outline.as_dict() | {
            "version": self.version.number,
            "taught_from": self.version.parent,
            "learned": self.images,
            "skipped": self.skipped,
            "figures": self.version.figures,
            "measured_on": self.version.held_back,
            "seconds": round(self.seconds, 2),
        }


def import_model(model: ModelFolder, source: Path) -> Version:
    """Make a saved learner, or that of a run, the first version of a model.

    Args:
        model: A folder without versions.
        source: What `Learner.load` reads.

    Raises:
        ConfigError: The model has versions already.
        CheckpointError: There is no learner in `source`.
    """
    if model.exists():
        raise ConfigError(f"{model.path} has versions already: teach it itself, or choose another --out")
    learner = Learner.load(source, device="cpu")
    with model.locked():
        return model.add(learner, f"from {source}")


def teach(
    model: str | Path,
    config: TeachConfig,
    *,
    restart: bool = False,
    announce: Callable[[Outline], None] = lambda outline: None,
    watch: Watch = lambda done, total, loss: None,
) -> Taught:
    """Let a model learn new images, once, and make the result its new version.

    The images of the test split are not learned: the new version is calibrated and measured with them, and with those
    of the months before. Killed or stopped, the same call goes on where it was and comes to the same version; once that
    is there, it changes nothing.

    Args:
        model: Folder of the model. One that does not exist becomes a new model, of `config.backbone`.
        config: What it is taught.
        restart: Begin anew, where an earlier call was stopped, or teach the same images once more.
        announce: Called with what is about to be learned, before that begins.
        watch: Called after each step.

    Returns:
        The new version, and what was learned.

    Raises:
        ConfigError: The settings do not fit to the model, or it is being taught something else.
        DataError: The images cannot be read.
        Interrupted: Somebody asked to stop; all is in a checkpoint.
    """
    folder = ModelFolder(model)
    dataset = load_dataset(config.dataset, config.data_root, **config.dataset_options)
    with folder.locked():
        return _Lesson(folder, config, dataset).carry_out(restart, announce, watch)


def outline(model: str | Path, config: TeachConfig) -> Outline:
    """Return what `teach` would do, without doing it."""
    folder = ModelFolder(model)
    dataset = load_dataset(config.dataset, config.data_root, **config.dataset_options)
    lesson = _Lesson(folder, config, dataset)
    return lesson.outline(lesson.base_learner())


class _TeachDirectory(Directory):
    """What is being learned, in the folder of the model."""

    command = "teach"


class _Lesson:
    """One call of `teach`."""

    def __init__(self, model: ModelFolder, config: TeachConfig, dataset: Dataset):
        self.model = model
        self.config = config
        self.dataset = dataset
        self.base = model.current if model.exists() else None
        self.visits = self._order()
        self.directory = _TeachDirectory(model.path / TEACHING)
        self.skipped: dict[str, str] = {}
        self.batch = 0
        if self.base is None or self.base.lesson != self._digest(self.base.parent):  # else all of it is done
            _require_fit(model, config, self.base)

    def carry_out(self, restart: bool, announce: Callable[[Outline], None], watch: Watch) -> Taught:
        started = time.monotonic()
        if restart:
            shutil.rmtree(self.directory.path, ignore_errors=True)
        elif self.base is not None and self.base.lesson == self._digest(self.base.parent):
            shutil.rmtree(self.directory.path, ignore_errors=True)
            return Taught(self.base, self.outline(self.base_learner()), images=0)
        learner, outline = self._begin()
        announce(outline)
        before = self.base.images if self.base else 0
        self._learn(learner, watch)
        for _ in range(self.config.rehearsals):
            learner.rehearse()
        held_back, figures = self._measure(learner)
        source = self.config.data_root or self.config.dataset
        states = {HELD_BACK: held_back.state_dict()}
        version = self.model.add(
            learner,
            f"taught {source}",
            figures,
            states,
            lesson=self._digest(self._number),
            held_back=len(held_back),
        )
        shutil.rmtree(self.directory.path)
        seconds = time.monotonic() - started
        return Taught(version, outline, version.images - before, dict(self.skipped), seconds)

    def base_learner(self) -> Learner:
        """Return the learner that goes on: that of the current version, or a new one."""
        if self.base is not None:
            return Learner.from_state(load_state(self.model.folder_of(self.base), LEARNER), self.config.device)
        assert self.config.backbone is not None
        return Learner.from_settings(self.config.learner, self.config.backbone, self.config.device)

    def outline(self, learner: Learner) -> Outline:
        """Compare the new images with what the model knows."""
        counts = class_counts(self.dataset.train)
        names = list(learner.labels)
        folded = {name.casefold(): name for name in names}
        new = {name: counts[name] for name in self.dataset.classes if name not in learner.labels}
        held = {item.id for item in learner.memory.items}
        return Outline(
            version=self.base,
            train=self.dataset.train,
            held_back=self.dataset.test,
            new=new,
            known={name: counts[name] for name in self.dataset.classes if name in learner.labels},
            before=dict(learner.label_counts),
            absent=[name for name in names if name not in self.dataset.classes],
            alike={name: folded[name.casefold()] for name in new if name.casefold() in folded},
            again=sum(sample.id in held for sample in self.dataset.train),
        )

    def _order(self) -> list[StreamSample]:
        """Return the images in a random order: a file that goes through one label after the other is a bad teacher."""
        every = frozenset(self.dataset.classes)
        seed = [self.config.learner.seed, self.base.number if self.base else 0]
        order = np.random.default_rng(seed).permutation(len(self.dataset.train))
        samples = [self.dataset.train[place] for place in order]
        return [StreamSample(sample, every if sample.known is None else sample.known) for sample in samples]

    @property
    def _number(self) -> int | None:
        return self.base.number if self.base else None

    def _digest(self, version: int | None) -> str:
        """Return a checksum of what is taught and of the version that is taught, None for a new model."""
        lines = sorted(f"{one.sample.id}:{sorted(one.labels)}:{sorted(one.known)}" for one in self.visits)
        return hashlib.sha256(json.dumps([version, lines]).encode()).hexdigest()

    def _settings(self) -> dict[str, Any]:
        """Return what decides the result beside the images; it must be the same when a lesson goes on."""
        return self.config.model_dump(mode="json", include={"backbone", "batch_size", "rehearsals", "learner"})

    def _begin(self) -> tuple[Learner, Outline]:
        """Return the learner and the outline: of what was stopped, or from the beginning."""
        checkpoint = self.directory.newest_checkpoint()
        learner = self.base_learner()
        outline = self.outline(learner)
        if checkpoint is None:
            return learner, outline
        progress = load_state(checkpoint, "progress")
        if (progress["digest"], progress["settings"]) != (self._digest(self._number), self._settings()):
            raise ConfigError(
                f"{self.model.path} is in the middle of learning {progress['source']}, and what is asked for now is "
                "something else, or these images have changed: give the command as it was, or begin anew with --restart"
            )
        self.batch, self.skipped = progress["batch"], progress["skipped"]
        outline = replace(outline, done=min(self.batch * self.config.batch_size, len(self.visits)))
        return Learner.from_state(load_state(checkpoint, LEARNER), self.config.device), outline

    def _learn(self, learner: Learner, watch: Watch) -> None:
        batches = in_batches(self.visits, self.config.batch_size)
        done, total = sum(map(len, batches[: self.batch])), len(self.visits)
        saved, saved_batch = time.monotonic(), self.batch
        with stop_on_signals() as stop:
            for loaded in self._load(batches, learner, start=self.batch):
                step = learner.observe(loaded.batch)
                self.batch += 1
                done += len(loaded.batch) + len(loaded.skipped)
                watch(done, total, step.loss)
                if stop.asked or time.monotonic() - saved >= 60 * self.config.checkpoint_minutes:
                    self._checkpoint(learner)
                    saved, saved_batch = time.monotonic(), self.batch
                if stop.asked:
                    stop.signal = None
                    raise Interrupted
        if self.batch > saved_batch:  # what comes now takes a while, and can be killed, too
            self._checkpoint(learner)

    def _load(self, batches: Sequence[Sequence[StreamSample]], learner: Learner, start: int = 0) -> Iterator[Loaded]:
        names = sorted({name for visits in batches for visit in visits for name in visit.known})
        size = learner.backbone.image_size
        total = len(self.dataset.train)
        for loaded in load_batches(batches, names, size, workers=self.config.workers, start=start):
            for image in loaded.skipped:
                logger.warning("skipped an unreadable image: %s", image.reason)
                self.skipped[image.path] = image.reason
            if len(self.skipped) > max(1, self.config.max_unreadable * total):
                some = "; ".join(list(self.skipped.values())[:NAMED])
                raise DataError(
                    f"{len(self.skipped)} of {total} images are unreadable so far, more than max_unreadable "
                    f"{self.config.max_unreadable:g} allows: {some} … Mend them, or allow more with --max-unreadable"
                )
            yield loaded

    def _measure(self, learner: Learner) -> tuple[HeldBack, dict[str, float | None]]:
        """Add the images that are held back to those of the months before; calibrate and measure with all of them."""
        held_back = self._held_back(learner)
        names = frozenset(learner.labels)
        held = [
            StreamSample(sample, (names if sample.known is None else sample.known) & frozenset(self.dataset.classes))
            for sample in pick(self.dataset.test, MOST_HELD_BACK)
        ]
        for loaded in self._load(in_batches(held, 64), learner) if held else ():
            held_back.add(loaded.batch, learner.labels.names)
        return held_back, held_back.fit(learner)

    def _held_back(self, learner: Learner) -> HeldBack:
        try:
            if self.base is not None:
                return HeldBack.from_state(load_state(self.model.folder_of(self.base), HELD_BACK))
        except CheckpointError:  # a learner that was imported comes without any
            pass
        return HeldBack(learner.backbone.image_size)

    def _checkpoint(self, learner: Learner) -> None:
        source = str(self.config.data_root or self.config.dataset)
        progress = {
            "batch": self.batch,
            "skipped": self.skipped,
            "digest": self._digest(self._number),
            "settings": self._settings(),
            "source": source,
        }
        self.directory.save_checkpoint(learner.steps, {LEARNER: learner.state_dict(), "progress": progress})


def _require_fit(model: ModelFolder, config: TeachConfig, base: Version | None) -> None:
    """Refuse settings that would have no effect, and a folder that holds something else."""
    if base is None:
        if config.backbone is None:
            raise ConfigError(f"{model.path} is a new model: name its backbone with --backbone")
        if model.path.is_dir() and any(
            entry.name not in (".lock", "versions", TEACHING) and not entry.name.startswith(f".{MODEL_INDEX}.")
            for entry in model.path.iterdir()
        ):
            raise ConfigError(
                f"{model.path} holds something else than a model. To go on from a saved learner or a run: "
                f"cuter teach {model.path} --out NEW_FOLDER …"
            )
    elif config.backbone is not None or config.learner != LearnerSettings():
        raise ConfigError(f"{model.path} has its backbone and settings already: drop the options that name others")
