"""Pre-training in a folder: it can be stopped and continued at any step, and leaves a backbone."""

from __future__ import annotations

import logging
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from cuter.backbone import save_backbone
from cuter.errors import CheckpointError, ConfigError, CuterError
from cuter.learn.devices import choose_device
from cuter.pretrain.curves import draw_curves
from cuter.pretrain.dino import Health, collapse
from cuter.pretrain.display import PretrainDisplay
from cuter.pretrain.images import ImageFiles, Images, Supply, files_under
from cuter.pretrain.judge import Judge
from cuter.pretrain.settings import PretrainSettings
from cuter.pretrain.trainer import Trainer
from cuter.runs.config import read_fields, validated_fields
from cuter.runs.directory import Directory, require_unused
from cuter.runs.environment import describe_environment
from cuter.runs.stopping import Interrupted, StopRequest, stop_on_signals
from cuter.storage import load_state, replacing
from cuter.stream.datasets import load_dataset

logger = logging.getLogger("cuter.pretrain")

COMMAND = "pretrain"


class PretrainDirectory(Directory):
    """One run of `cuter pretrain`."""

    command = COMMAND

    @property
    def settings(self) -> PretrainSettings:
        """The settings that it was started with."""
        file = self.path / "config.yaml"
        return validated_fields(PretrainSettings, file, read_fields(file), {})


@dataclass
class Progress:
    """All that a checkpoint must know beside the trainer."""

    digest: str  # of the images
    seconds: float = 0.0
    metrics_length: int = 0
    scores: list[dict[str, float]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # reason by name

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Progress:
        """Read back what `asdict` gave."""
        try:
            return cls(**state)
        except TypeError as error:
            raise CheckpointError(f"the checkpoint's progress is of another version: {error}") from None


def start(settings: PretrainSettings, out: Path, display: PretrainDisplay) -> dict[str, Any]:
    """Train a backbone on the folder or the data set that the settings name; see `pretrain`."""
    require_unused(out, COMMAND)
    choose_device(settings.device)  # a mistake is reported before a data set is read, which may take long
    settings = _with_absolute_paths(settings)  # it may be continued from another folder
    images, judge = _named(settings)
    return pretrain(images, settings, out, display, judge)


def pretrain(
    images: Images, settings: PretrainSettings, out: Path, display: PretrainDisplay, judge: Judge | None = None
) -> dict[str, Any]:
    """Train a backbone on these images in a new folder, and return the summary.

    `images` is a uint8 tensor (N, 3, H, W), or gives uint8 images (3, H, W) by number. `judge` scores the backbone on
    the way; None measures the average Fiedler value of some of the images.
    """
    require_unused(out, COMMAND)
    choose_device(settings.device)
    display.say(f"reading {len(images)} images")
    supply = Supply(images, settings)
    judge = judge or Judge.without_labels(supply.some(settings.probe_images))
    trainer, progress = Trainer(settings, supply.total_steps), Progress(supply.digest(), skipped=supply.skipped)
    directory = PretrainDirectory.create(out, settings)  # not before: a mistake must not leave a folder behind
    with directory.locked():
        directory.write_environment(describe_environment(trainer.device))
        return Pretraining(directory, supply, trainer, progress, judge=judge, display=display).carry_out()


def resume(
    out: Path, display: PretrainDisplay, images: Images | None = None, judge: Judge | None = None
) -> dict[str, Any]:
    """Continue from the newest whole checkpoint. Images that no setting names have to be given again."""
    directory = PretrainDirectory.open(out)
    settings = directory.settings  # first: a folder of another command is recognised by them
    if directory.finished is not None:
        display.say(f"{out} is finished")
        display.scored(directory.finished["scores"], directory.finished["steps"])
        return directory.finished
    if images is None and settings.images is None and settings.dataset is None:
        raise ConfigError(f"{out} was started in Python with images of its own: give them to `resume` again")
    with directory.locked():
        if images is None:
            images, judge = _named(settings)
        display.say(f"reading {len(images)} images")
        supply = Supply(images, settings)
        judge = judge or Judge.without_labels(supply.some(settings.probe_images))
        trainer, progress = Trainer(settings, supply.total_steps), Progress(supply.digest(), skipped=supply.skipped)
        folder = directory.newest_checkpoint()
        if folder is None:
            logger.warning("no whole checkpoint in %s: it starts from its beginning", out)
        else:
            progress = Progress.from_state(load_state(folder, "progress"))
            trainer.load_state_dict(load_state(folder, "trainer"))
        if progress.digest != supply.digest():
            raise ConfigError(f"{out} cannot go on: the images, or which are readable, are not those it began with")
        supply.skipped = progress.skipped
        directory.compare_environment(describe_environment(trainer.device))
        directory.cut_metrics(progress.metrics_length)
        return Pretraining(directory, supply, trainer, progress, judge=judge, display=display).carry_out()


def _named(settings: PretrainSettings) -> tuple[Images, Judge | None]:
    """Return the images that the settings name, and who judges what is learned from them."""
    if (settings.images is None) == (settings.dataset is None):
        raise ConfigError("images are needed: either a folder (--images) or a data set (--dataset), and not both")
    if settings.images is not None:
        return ImageFiles(files_under(settings.images), settings.image_size), None
    dataset = load_dataset(str(settings.dataset), settings.data_root, **settings.dataset_options)
    files = ImageFiles([sample.path for sample in dataset.train], settings.image_size)
    return files, Judge.of(dataset, settings)


def _with_absolute_paths(settings: PretrainSettings) -> PretrainSettings:
    paths = {name: getattr(settings, name) for name in ("images", "data_root")}
    return settings.model_copy(
        update={name: path.expanduser().resolve() for name, path in paths.items() if path is not None}
    )


class Pretraining:
    """One pre-training under way."""

    def __init__(
        self,
        directory: PretrainDirectory,
        supply: Supply,
        trainer: Trainer,
        progress: Progress,
        *,
        judge: Judge,
        display: PretrainDisplay,
    ):
        self.directory = directory
        self.supply = supply
        self.trainer = trainer
        self.progress = progress
        self.display = display
        self.settings = trainer.settings
        self.total = trainer.total_steps
        self.judge = judge
        scores = self.settings.scores
        self.score_at = {round(self.total * number / scores) for number in range(1, scores + 1)}
        self.mark = self.saved_at = time.monotonic()

    def carry_out(self) -> dict[str, Any]:
        """Train from wherever the trainer stands to the end."""
        with self.directory.logged(), self.display, stop_on_signals() as stop:
            logger.info("at step %d of %d, %d unreadable images", self.trainer.steps, self.total, len(self.skipped))
            batch = min(self.settings.batch_size, self.supply.count)
            self.display.begin((self.total - self.trainer.steps) * batch, self.total * batch)
            if not self.progress.scores:
                self._score({})  # what an untrained transformer gets
            self._pause_point(stop)
            while self.trainer.steps < self.total:
                self._epoch(stop)
            return self._finish()

    @property
    def skipped(self) -> dict[str, str]:
        """Why images could not be read, by their names."""
        return self.supply.skipped

    def _epoch(self, stop: StopRequest) -> None:
        epoch, done = divmod(self.trainer.steps, self.supply.epoch_steps)
        for images in self.supply.batches(epoch, start=done):
            figures = self.trainer.step(images)
            steps = self.trainer.steps
            self.directory.append_metrics({"step": steps, "epoch": epoch, **figures})
            self.display.learned(len(images), steps, self.total, figures["loss"])
            if steps in self.score_at:
                self._score(figures)
            self._pause_point(stop)
            if steps == self.total:
                return

    def _score(self, figures: dict[str, float]) -> None:
        """Measure and export the teacher, and warn if it has collapsed."""
        health = {name: figures[name] for name in ("loss", "matched", *Health.__slots__) if name in figures}
        score = {"step": self.trainer.steps, **self.judge.measure(self.trainer.backbone), **health}
        self.progress.scores.append(score)
        self.directory.append_metrics({"step": self.trainer.steps, "score": score})
        self._export()
        self.display.scored(self.progress.scores, self.total)
        if self.trainer.steps > self.total * self.settings.warmup and figures:  # before that features may be anything
            state = Health(**{name: figures[name] for name in Health.__slots__})
            if sign := collapse(state, self.settings.prototypes if self.settings.distil else None):
                logger.warning("step %d: features have collapsed: %s", self.trainer.steps, sign)

    def _export(self) -> None:
        try:
            with replacing(self.directory.path / "backbone") as folder:
                save_backbone(self.trainer.backbone, folder, half=True)
        except (OSError, SafetensorError) as error:  # the latter is how safetensors tells of a full disk
            path = self.directory.path
            raise CuterError(
                f"{path / 'backbone'} cannot be written ({error}). "
                f"When it can, go on with: cuter {COMMAND} --resume {path}"
            ) from None

    def _finish(self) -> dict[str, Any]:
        self._checkpoint(required=True)
        images = self.total * min(self.settings.batch_size, self.supply.count)
        summary = {
            "settings": self.settings.model_dump(mode="json"),
            "parameters": sum(one.numel() for one in self.trainer.backbone.parameters()),
            "images": self.supply.count,
            "skipped": self.skipped,
            "steps": self.total,
            "scores": self.progress.scores,
            "seconds": round(self.progress.seconds, 2),
            "images_per_second": round(images / max(self.progress.seconds, 1e-9), 2),
        }
        draw_curves(self.directory.path, self.settings.prototypes)
        self.directory.write_summary(summary)
        if self.skipped:
            self.display.say(f"{len(self.skipped)} unreadable images were skipped; summary.json names them")
        return summary

    def _pause_point(self, stop: StopRequest) -> None:
        """Between two steps: write a checkpoint when one is due, and stop if asked to."""
        if stop.asked:
            if not self._checkpoint():
                raise CuterError(f"stopped without a checkpoint: {self.directory.path} goes on from an earlier one")
            raise Interrupted
        if time.monotonic() - self.saved_at >= 60 * self.settings.checkpoint_minutes:
            self._checkpoint()

    def _checkpoint(self, *, required: bool = False) -> bool:
        self.saved_at = time.monotonic()
        self.progress.seconds += self.saved_at - self.mark
        self.mark = self.saved_at
        self.progress.metrics_length = self.directory.metrics_length()
        states = {"trainer": self.trainer.state_dict(), "progress": asdict(self.progress)}
        return self.directory.save_checkpoint(self.trainer.steps, states, required=required)
