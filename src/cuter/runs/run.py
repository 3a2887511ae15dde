"""A run: a learner meets a stream, is tested after each task, and can be stopped and continued at any step."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from cuter.errors import ConfigError, CuterError, DataError
from cuter.learn.learner import Learner, Step
from cuter.measure.metrics import multilabel_scores
from cuter.measure.probe import Probe
from cuter.measure.protocol import Summary, TaskResult
from cuter.measure.purity import purity
from cuter.runs.config import RunConfig, field_names, with_absolute_paths
from cuter.runs.directory import RunDirectory, require_unused
from cuter.runs.display import Display
from cuter.runs.environment import describe_environment
from cuter.runs.plan import Plan, make_plan
from cuter.runs.progress import Progress
from cuter.runs.stopping import Interrupted, StopRequest, stop_on_signals
from cuter.runs.task_stream import in_columns
from cuter.runs.tracking.group import TrackerGroup
from cuter.runs.tracking.trackers import require_clients
from cuter.runs.unreadable import UnreadableLimit
from cuter.settings import Role
from cuter.storage import load_state
from cuter.stream.images import path_text
from cuter.stream.loading import Loaded, Unreadable, load_batches
from cuter.stream.tasks import StreamSample, in_batches

logger = logging.getLogger("cuter.run")

# What may change when a run goes on: it decides no result.
CHANGEABLE = tuple(field_names(Role.RESUMABLE))


def start(config: RunConfig, out: Path, display: Display) -> dict[str, Any]:
    """Carry out a new run in the folder `out` and return its summary."""
    require_unused(out)
    require_clients(config.track)
    config = with_absolute_paths(config)  # a run may be continued from another folder
    plan = make_plan(config)  # before anything is written: a mistake must not leave a folder behind
    learner = _new_learner(config)
    directory = RunDirectory.create(out, config)
    with directory.locked():
        directory.write_environment(describe_environment(learner.device) | {"backbone": str(learner.backbone.report)})
        display.say(str(learner.backbone.report))
        progress = Progress(plan=plan.digest(), data_root=_root(config))
        return Run(config, directory, plan, learner=learner, progress=progress, display=display).carry_out()


def resume(out: Path, display: Display, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Continue a run from its newest whole checkpoint and return its summary.

    `changes` are settings of `CHANGEABLE`. They are noted in the configuration of the run.
    """
    directory = RunDirectory.open(out)
    before = directory.config
    config = _changed(before, changes or {})
    finished = directory.finished
    if finished is not None and not directory.lacks_checkpoint(finished["steps"]):
        if config.data_root != before.data_root:
            with directory.locked():
                _require_same_data(directory, config)
                directory.write_config(config)
        return _show_again(finished, directory, display)
    if finished is not None:
        logger.warning("%s lacks its last checkpoint: it goes on from the one before", out)
    require_clients(config.track)
    with directory.locked():
        plan = make_plan(config)
        folder = directory.newest_checkpoint()
        if folder is None:
            logger.warning("no whole checkpoint in %s: the run starts from its beginning", out)
            learner, progress = _new_learner(config), Progress(plan=plan.digest(), data_root=_root(config))
        else:
            learner = Learner.from_state(load_state(folder, "learner"), config.device)
            progress = Progress.from_state(load_state(folder, "progress"))
        _require_same_plan(progress, plan, directory, config)
        progress.move(progress.data_root or _root(before), _root(config))
        if config != before:
            directory.write_config(config)
        directory.compare_environment(describe_environment(learner.device))
        directory.cut_metrics(progress.metrics_length)
        return Run(config, directory, plan, learner=learner, progress=progress, display=display).carry_out()


def _changed(config: RunConfig, changes: Mapping[str, Any]) -> RunConfig:
    """Return a run's configuration with what may change when it goes on; anything else is refused."""
    for name in changes:
        if name not in CHANGEABLE:
            raise ConfigError(f"a run goes on with its own {name}. What may change: {', '.join(CHANGEABLE)}")
    changed = config.with_fields(**changes)
    root = changed.data_root
    return changed.model_copy(update={"data_root": root and root.expanduser().resolve()})


def _require_same_data(directory: RunDirectory, config: RunConfig) -> None:
    """Refuse data that are not those of the newest checkpoint; without a checkpoint nobody knows."""
    if folder := directory.newest_checkpoint():
        progress = Progress.from_state(load_state(folder, "progress"))
        _require_same_plan(progress, make_plan(config), directory, config)


def _require_same_plan(progress: Progress, plan: Plan, directory: RunDirectory, config: RunConfig) -> None:
    if progress.plan != plan.digest():
        place = f"under {config.data_root}" if config.data_root else f"of {config.dataset}"
        raise ConfigError(
            f"{directory.path} cannot go on: the images, labels or tasks {place} are not those it began with"
        )


def _draw(directory: RunDirectory, display: Display, *, only_missing: bool = False) -> None:
    try:
        display.draw(directory.path, only_missing=only_missing)
    except OSError as error:
        raise CuterError(
            f"the results of {directory.path} are in summary.json, but not all of its pictures can be written "
            f"({error}). Make room, then draw them with: {directory.go_on}"
        ) from error


def _root(config: RunConfig) -> str:
    return "" if config.data_root is None else path_text(config.data_root)


def _show_again(finished: dict[str, Any], directory: RunDirectory, display: Display) -> dict[str, Any]:
    """Show the results of a run that came to its end, and draw the pictures that it lacks."""
    results = Summary.from_dict(finished)
    display.say(f"{directory.path} is finished")
    display.end_task(results.tasks)
    display.finish(results, skipped=len(finished["skipped"]))
    if directory.metrics.is_file():
        _draw(directory, display, only_missing=True)
    return finished


def _new_learner(config: RunConfig) -> Learner:
    return Learner.from_settings(config.learner, config.backbone, config.device)


class Run:
    """One run under way."""

    def __init__(
        self,
        config: RunConfig,
        directory: RunDirectory,
        plan: Plan,
        *,
        learner: Learner,
        progress: Progress,
        display: Display,
    ):
        self.config = config
        self.directory = directory
        self.plan = plan
        self.learner = learner
        self.progress = progress
        self.display = display
        probed = [visit.sample for visit in plan.test[-1]]  # images of all classes, also before all are learned
        self.probe = Probe.of(probed, config.probe_images, learner.backbone.image_size)
        self.trackers = TrackerGroup(config, directory.path, learner.steps + 1)
        self.limit = UnreadableLimit(plan, config.max_unreadable)
        self.is_saved = True  # what the last checkpoint was to hold
        self.saved_at = (learner.steps, time.monotonic())

    def carry_out(self) -> dict[str, Any]:
        """Learn and test, task after task, from wherever the progress stands."""
        with self.directory.logged(), self.trackers, self.display, stop_on_signals() as stop:
            logger.info("at step %d, task %d", self.learner.steps, self.progress.task + 1)
            self.display.begin_run(
                learn=[sum(map(len, batches)) for batches in self.plan.learn],
                test=[len(visits) for visits in self.plan.test],
                tasks_done=self.progress.task,
                images_done=self.progress.batch * self.config.batch_size,
            )
            while self.progress.task < len(self.plan.tasks):
                self._learn_task(stop)
                self._test_task(stop)
            return self._finish()

    def _learn_task(self, stop: StopRequest) -> None:
        task = self.progress.task
        self.display.begin_task(self.plan.tasks[task], of=len(self.plan.tasks))
        self._pause_point(stop)
        mark = time.monotonic()
        for loaded in self._load(self.plan.learn[task], self.plan.names(task), start=self.progress.batch):
            step = self.learner.observe(loaded.batch)
            self.progress.batch += 1
            self.progress.images += step.images
            self._note_step(step, arrived=len(loaded.batch) + len(loaded.skipped))
            self.progress.train_seconds += time.monotonic() - mark
            self._pause_point(stop)
            mark = time.monotonic()
        if self.plan.learn[task] and not self.progress.images:
            raise DataError(f"none of the training images of {self.plan.tasks[task].name} is readable")

    def _test_task(self, stop: StopRequest) -> None:
        task = self.progress.task
        classes = self.plan.seen(task)
        self.display.begin_test()
        mark = time.monotonic()
        scores, region_scores, labels, known = [], [], [], []
        for loaded in self._load(in_batches(self.plan.test[task], self.config.test_batch_size), classes):
            whole, joined = self._scores(loaded.batch.images)
            scores.append(in_columns(whole, self.learner.labels, classes))
            region_scores += [] if joined is None else [in_columns(joined, self.learner.labels, classes)]
            labels.append(loaded.batch.labels)
            known.append(loaded.batch.known)
            self.display.tested(len(loaded.batch) + len(loaded.skipped))
            self._pause_point(stop)
        if not sum(map(len, scores)):
            raise DataError(
                f"none of the {len(self.plan.test[task])} test images of {self.plan.tasks[task].name} is readable"
            )
        result = TaskResult(
            task,
            self.plan.tasks[task].name,
            tuple(classes),
            multilabel_scores(torch.cat(scores), torch.cat(labels), torch.cat(known)),
            images=sum(map(len, scores)),
            region_scores=multilabel_scores(torch.cat(region_scores), torch.cat(labels), torch.cat(known))
            if region_scores
            else None,
        )
        learner = self.learner
        localisation = self.probe.measure(
            learner.backbone, learner.cut_settings, learner.settings.localiser.max_regions
        )
        self.progress.test_seconds += time.monotonic() - mark
        self.progress.results.append(result)
        self.progress.task, self.progress.batch = task + 1, 0
        self._note_test(result, localisation)
        self._checkpoint()

    def _load(
        self, batches: Sequence[Sequence[StreamSample]], names: Sequence[str], start: int = 0
    ) -> Iterator[Loaded]:
        """Decode ahead, and note what could not be read."""
        size = self.learner.backbone.image_size
        config = self.config
        for loaded in load_batches(batches, names, size, workers=config.workers, strict=config.strict, start=start):
            self._note_skipped(loaded.skipped)
            yield loaded

    def _scores(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Score whole images and, where the predictor does so, these with their regions, in one pass."""
        if self.config.learner.predictor.kind == "whole":
            return self.learner.scores(images, self.config.test_batch_size), None
        found = self.learner.region_scores(images, self.config.test_batch_size)
        return found.whole, found.joined

    def _finish(self) -> dict[str, Any]:
        if not self.is_saved:
            self._checkpoint(required=True)
        progress, results = self.progress, Summary.of(self.progress.results)
        summary = results.as_dict() | {
            "config": self.config.dump(),
            "steps": self.learner.steps,
            "images": progress.images,
            "memory_items": len(self.learner.memory),
            "skipped": progress.skipped,
            "train_seconds": round(progress.train_seconds, 2),
            "test_seconds": round(progress.test_seconds, 2),
            "train_images_per_second": round(progress.images / max(progress.train_seconds, 1e-9), 2),
        }
        self.trackers.finished(results, self.learner.steps)  # before the run counts as finished: then nobody comes back
        self.directory.write_summary(summary)
        _draw(self.directory, self.display)
        self.display.finish(results, skipped=len(progress.skipped))
        return summary

    def _note_step(self, step: Step, arrived: int) -> None:
        memory = self.learner.memory
        if step.images:
            line = {"step": self.learner.steps, "task": self.progress.task, "loss": step.loss, "memory": len(memory)}
            self.directory.append_metrics(line | ({"selection": step.selection} if step.selection else {}))
            self.trackers.learned(step, memory.fill, self.learner.steps)
        self.display.learned(arrived, step.loss, memory.fill)

    def _note_test(self, result: TaskResult, localisation: dict[str, float]) -> None:
        logger.info("%s: mAP %s over %d images", result.name, result.scores["map"], result.images)
        names = self.learner.labels.names
        held = dict.fromkeys(names, 0) | dict(zip(names, self.learner.memory.counts().tolist(), strict=False))
        line = {"step": self.learner.steps, "test": result.as_dict(), "localisation": localisation, "classes": held}
        if (share := self._purity()) is not None:
            line["purity"] = share
        self.directory.append_metrics(line)
        self.trackers.tested(result, localisation, self.learner.steps)
        self.display.end_task(self.progress.results)

    def _purity(self) -> float | None:
        visits = (visit for batches in self.plan.learn for batch in batches for visit in batch)
        samples = {visit.sample.id: visit.sample for visit in visits}
        learner = self.learner
        return purity(learner.memory.items, learner.labels.names, samples, learner.backbone.image_size)

    def _note_skipped(self, skipped: Sequence[Unreadable]) -> None:
        for image in skipped:
            if image.path not in self.progress.skipped:
                logger.warning("skipped an unreadable image: %s", image.reason)
            self.progress.skipped[image.path] = image.reason
        if skipped:
            self.limit.check(self.progress.skipped, self.directory.go_on)

    def _pause_point(self, stop: StopRequest) -> None:
        """Between two steps: write a checkpoint when one is due, and stop if asked to."""
        steps, minutes = self.learner.steps - self.saved_at[0], (time.monotonic() - self.saved_at[1]) / 60
        every = self.config.checkpoint_steps
        if stop.asked:
            if not self._checkpoint():
                raise CuterError(f"stopped without a checkpoint: {self.directory.path} goes on from an earlier one")
            raise Interrupted
        if steps and ((every and steps >= every) or minutes >= self.config.checkpoint_minutes):
            self._checkpoint()

    def _checkpoint(self, *, required: bool = False) -> bool:
        self.trackers.flush()
        self.progress.metrics_length = self.directory.metrics_length()
        states = {"learner": self.learner.state_dict(), "progress": self.progress.state_dict()}
        self.saved_at = (self.learner.steps, time.monotonic())
        self.is_saved = self.directory.save_checkpoint(self.learner.steps, states, required=required)
        return self.is_saved
