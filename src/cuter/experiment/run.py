"""A run: a learner meets a stream, is tested after each task, and can be stopped and continued at any step."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from cuter.errors import ConfigError, CuterError, DataError
from cuter.experiment.config import RunConfig, with_absolute_paths
from cuter.experiment.directory import RunDirectory, require_unused
from cuter.experiment.display import Display
from cuter.experiment.environment import describe_environment
from cuter.experiment.events import Events
from cuter.experiment.plan import Plan, make_plan
from cuter.experiment.probe import Probe
from cuter.experiment.progress import Progress
from cuter.experiment.purity import purity
from cuter.experiment.run_pictures import draw_run
from cuter.experiment.stopping import Interrupted, StopRequest, stop_on_signals
from cuter.experiment.trackers import require_clients
from cuter.learn.learner import Learner, Step
from cuter.learn.settings import LearnerSettings
from cuter.measure.metrics import multilabel_scores
from cuter.measure.protocol import Summary, TaskResult
from cuter.storage import load_state
from cuter.stream.loading import Loaded, Unreadable, load_batches
from cuter.stream.tasks import Visit, in_batches

logger = logging.getLogger("cuter.run")


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
        progress = Progress(plan=plan.digest())
        return Run(config, directory, plan, learner=learner, progress=progress, display=display).carry_out()


def resume(out: Path, display: Display) -> dict[str, Any]:
    """Continue a run from its newest whole checkpoint and return its summary."""
    directory = RunDirectory.open(out)
    if directory.finished is not None:
        results = Summary.from_dict(directory.finished)
        display.say(f"{out} is finished")
        display.end_task(results.tasks)
        display.finish(results, skipped=len(directory.finished["skipped"]))
        return directory.finished
    config = directory.config
    require_clients(config.track)
    with directory.locked():
        plan = make_plan(config)
        folder = directory.newest_checkpoint()
        if folder is None:
            logger.warning("no whole checkpoint in %s: the run starts from its beginning", out)
            learner, progress = _new_learner(config), Progress(plan=plan.digest())
        else:
            learner = Learner.from_state(load_state(folder, "learner"), config.device)
            progress = Progress.from_state(load_state(folder, "progress"))
        if progress.plan != plan.digest():
            place = f"under {config.data_root}" if config.data_root else f"of {config.dataset}"
            raise ConfigError(f"{out} cannot go on: the images, labels or tasks {place} are not those it began with")
        directory.compare_environment(describe_environment(learner.device))
        directory.cut_metrics(progress.metrics_length)
        return Run(config, directory, plan, learner=learner, progress=progress, display=display).carry_out()


def _new_learner(config: RunConfig) -> Learner:
    settings = config.model_dump(include=set(LearnerSettings.model_fields))
    return Learner.create(backbone=config.backbone, device=config.device, **settings)


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
        self.events = Events(config, directory.path, learner.steps + 1)
        self.saved_at = (learner.steps, time.monotonic())

    def carry_out(self) -> dict[str, Any]:
        """Learn and test, task after task, from wherever the progress stands."""
        with self.directory.logged(), self.events, self.display, stop_on_signals() as stop:
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

    def _test_task(self, stop: StopRequest) -> None:
        task = self.progress.task
        classes = self.plan.seen(task)
        self.display.begin_test()
        mark = time.monotonic()
        scores, labels, known = [], [], []
        for loaded in self._load(in_batches(self.plan.test[task], self.config.test_batch_size), classes):
            scores.append(self._probabilities(loaded.batch.images, classes))
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
        )
        learner = self.learner
        localisation = self.probe.measure(learner.backbone, learner.cut_settings, learner.settings.rounds)
        self.progress.test_seconds += time.monotonic() - mark
        self.progress.results.append(result)
        self.progress.task, self.progress.batch = task + 1, 0
        self._note_test(result, localisation)
        self._checkpoint()

    def _load(self, batches: Sequence[Sequence[Visit]], names: Sequence[str], start: int = 0) -> Iterator[Loaded]:
        """Decode ahead, and note what could not be read."""
        size = self.learner.backbone.image_size
        config = self.config
        for loaded in load_batches(batches, names, size, workers=config.workers, strict=config.strict, start=start):
            self._note_skipped(loaded.skipped)
            yield loaded

    def _probabilities(self, images: torch.Tensor, classes: Sequence[str]) -> torch.Tensor:
        """Score images for these classes; a class that never came (a small `limit_train`) scores 0."""
        found = self.learner.probabilities(images, self.config.test_batch_size)
        scores = torch.zeros(len(images), len(classes))
        for column, name in enumerate(classes):
            if name in self.learner.labels:
                scores[:, column] = found[:, self.learner.labels.column(name)]
        return scores

    def _finish(self) -> dict[str, Any]:
        progress, results = self.progress, Summary.of(self.progress.results)
        summary = results.as_dict() | {
            "config": self.config.model_dump(mode="json"),
            "steps": self.learner.steps,
            "images": progress.images,
            "memory_items": len(self.learner.memory),
            "skipped": progress.skipped,
            "train_seconds": round(progress.train_seconds, 2),
            "test_seconds": round(progress.test_seconds, 2),
            "train_images_per_second": round(progress.images / max(progress.train_seconds, 1e-9), 2),
        }
        self.events.finished(results, self.learner.steps)  # before the run counts as finished: then nobody comes back
        self.directory.write_summary(summary)
        draw_run(self.directory.path)
        self.display.finish(results, skipped=len(progress.skipped))
        return summary

    def _note_step(self, step: Step, arrived: int) -> None:
        memory = self.learner.memory
        if step.images:
            line = {"step": self.learner.steps, "task": self.progress.task, "loss": step.loss, "memory": len(memory)}
            self.directory.append_metrics(line | ({"selection": step.selection} if step.selection else {}))
            self.events.learned(step, memory.fill, self.learner.steps)
        self.display.learned(arrived, step.loss, memory.fill)

    def _note_test(self, result: TaskResult, localisation: dict[str, float]) -> None:
        logger.info("%s: mAP %s over %d images", result.name, result.scores["map"], result.images)
        names = self.learner.labels.names
        held = dict.fromkeys(names, 0) | dict(zip(names, self.learner.memory.counts().tolist(), strict=False))
        line = {"step": self.learner.steps, "test": result.as_dict(), "localisation": localisation, "classes": held}
        if (share := self._purity()) is not None:
            line["purity"] = share
        self.directory.append_metrics(line)
        self.events.tested(result, localisation, self.learner.steps)
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

    def _checkpoint(self) -> bool:
        self.events.flush()
        self.progress.metrics_length = self.directory.metrics_length()
        states = {"learner": self.learner.state_dict(), "progress": self.progress.state_dict()}
        self.saved_at = (self.learner.steps, time.monotonic())
        return self.directory.save_checkpoint(self.learner.steps, states)
