"""The learner: Algorithm 1 of the paper, built from exchangeable parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

import torch
from PIL.Image import Image
from torch import Tensor

from cuter.backbone import Backbone, load_backbone
from cuter.cut import CutSettings, Localiser, Regions
from cuter.errors import BatchError, CheckpointError, ConfigError, CuterError
from cuter.learn.confusion import Confusion
from cuter.learn.devices import choose_device
from cuter.learn.keepers import WantedVectors
from cuter.learn.localise import own_regions
from cuter.learn.losses import asymmetric_loss
from cuter.learn.model import Model, View
from cuter.learn.parts import (
    choose_cut,
    load_localiser,
    make_draw,
    make_head,
    make_keeper,
    make_localise,
    make_regulariser,
    make_stream_target,
    uses_localiser,
)
from cuter.learn.predictors import Prediction, RegionPredictor, RegionScores, predictions
from cuter.learn.recipe import METHODS
from cuter.learn.replay import as_batch, augmented
from cuter.learn.saved import find_saved
from cuter.learn.settings import LearnerSettings
from cuter.learn.teachers import TEACHERS
from cuter.learn.words import check_word_vectors, vectors_of_names
from cuter.memory import MEMORIES, Item
from cuter.settings import restored, validated
from cuter.storage import load_state, save_states
from cuter.stream.augment import make_augment
from cuter.stream.batch import Batch, check_images
from cuter.stream.images import read_images
from cuter.stream.labels import LabelSpace
from cuter.stream.resize import resize

ImageSource = str | Path | bytes | Image

FORMAT = 3  # of a saved learner


@dataclass(frozen=True, slots=True)
class Step:
    """What one call of `observe` did."""

    images: int = 0
    replayed: int = 0
    loss: float = 0.0
    selection: Mapping[str, int] = field(default_factory=dict)  # what became of its cut-outs


class Learner:
    """Learns from a stream of batches, each image seen once, and predicts at any time."""

    def __init__(
        self, settings: LearnerSettings, backbone: Backbone, device: str = "auto", localiser: Localiser | None = None
    ):
        self.settings = settings
        self.device = choose_device(device)
        self.labels = LabelSpace()
        self.generator = torch.Generator().manual_seed(settings.seed)
        head = make_head(settings, backbone.embedding_dim, self.generator)
        self.model = Model(backbone, head).to(self.device).train()  # a loaded encoder comes in evaluation mode
        self.criterion = partial(asymmetric_loss, reduction=settings.class_reduction)
        self.augment = make_augment(settings.augment)
        if uses_localiser(settings) != (localiser is not None):
            raise ConfigError(f"localiser {settings.localiser!r} and the localiser that was handed over do not agree")
        self.localiser = localiser and localiser.to(self.device)
        backbone.precision = settings.precision
        if localiser is not None:
            localiser.backbone.precision = settings.precision
        self.cut_settings = choose_cut(settings, backbone)
        backbone.set_features(self.cut_settings.features)  # what the cut sees, and what regularisers act on
        self.localise = make_localise(settings, self.cut_settings, self.localiser)
        self.regularise = make_regulariser(settings, head)
        self.teacher = TEACHERS[settings.teacher](settings)
        budget = settings.memory_images * backbone.image_size**2
        self.memory = MEMORIES[settings.memory](budget, self.generator, settings.memory_codec, settings.memory_power)
        self.confusion = Confusion(self.memory, self._judge, settings.confusion_steps)
        self.draw = make_draw(settings, self.memory, self.confusion)
        self.vectors = WantedVectors(self.memory.wants, self.criterion)
        self.keeper = make_keeper(settings, self.model, self.memory, self.vectors)
        self.stream_target = make_stream_target(settings)
        self.optimizer = torch.optim.AdamW(
            backbone.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True
        )
        if shared := list(head.parameters()):
            self.optimizer.add_param_group({"params": shared, "lr": settings.shared_lr})
        self.steps = 0

    @classmethod
    def create(
        cls, method: str = "rs", *, backbone: str | PathLike[str] | Backbone, device: str = "auto", **settings: Any
    ) -> Learner:
        """Build a learner. `backbone` may be a name for `load_backbone`; `settings` are fields of `LearnerSettings`."""
        checked = validated(LearnerSettings, {"method": method, **settings})
        METHODS[method].require_learner(method)
        return cls.from_settings(checked, backbone, device)

    @classmethod
    def from_settings(
        cls, settings: LearnerSettings, backbone: str | PathLike[str] | Backbone, device: str = "auto"
    ) -> Learner:
        """Build a learner of these settings, also for a run whose method decides what is shown, such as `joint`."""
        if settings.word_vectors is not None:
            check_word_vectors(settings.word_vectors, settings.word_dim)
        if not isinstance(backbone, Backbone):
            backbone = load_backbone(backbone)
        return cls(settings, backbone, device, load_localiser(settings, backbone))

    @property
    def backbone(self) -> Backbone:
        """The encoder that is being trained."""
        return self.model.backbone

    def observe(self, batch: Batch) -> Step:
        """Learn from a batch, once, and keep what memory will have of it."""
        if not isinstance(batch, Batch):
            raise BatchError(
                f"observe takes a Batch (Batch.of makes one of images and names), not {type(batch).__name__}"
            )
        if not len(batch):
            return Step()
        batch = self._align(batch)
        with self._randomness():
            drawn = self.draw(self.steps)
            replay = self._as_batch(drawn)
            seen = self.augment(_unit(batch.images))
            view = self.localise(seen, self._look(seen.images))  # one forward: logits and patch features
            lesson = self.teacher(seen.images, view, batch)  # what the model of the task before says of it
            told = self.stream_target(lesson.batch, view.logits)
            logits = self._logits_to_learn(view, guessed=told.known & ~lesson.batch.known)
            loss = self.criterion(logits, told.labels, told.known) + self.regularise(view, told) + lesson.loss
            replayed = self._look_at_replay(replay)
            replay_loss = self.criterion(replayed.logits, replay.labels, replay.known)
            loss = loss + self.settings.replay_weight * replay_loss
            kept = self.keeper(batch, view)  # before the step: images and cut-outs are seen by the same model
            self._step(loss)
            self.memory.refresh(drawn, self.vectors(replayed, replay.labels, replay.known))
            self.memory.offer(kept.items, invited=kept.invited)
            self.model.head.follow(batch, view.embedding, lesson.opinion)
            self.model.head.follow_replay(replay, replayed.embedding)
        return Step(len(batch), len(replay), loss.item(), kept.selection)

    @overload
    def predict(
        self, images: Tensor | Iterable[ImageSource], batch_size: int = 64, *, regions: Literal[False] = False
    ) -> list[dict[str, float]]: ...
    @overload
    def predict(
        self, images: Tensor | Iterable[ImageSource], batch_size: int = 64, *, regions: Literal[True]
    ) -> list[Prediction]: ...
    def predict(
        self, images: Tensor | Iterable[ImageSource], batch_size: int = 64, *, regions: bool = False
    ) -> list[dict[str, float]] | list[Prediction]:
        """Return for each image the probability of every class seen so far, by name.

        Args:
            images: a uint8 tensor (B, 3, H, W), or paths, encoded bytes or Pillow images. One that cannot be read is an
                error: a row must not be missing.
            batch_size: images per forward.
            regions: look at regions of each image too, whatever the predictor of the settings is, and return a
                `Prediction`, which has the region that each class was seen in.
        """
        if isinstance(images, str | bytes | Path | Image):
            raise BatchError("predict takes a list of images, even for one")
        images = images if isinstance(images, Tensor) else list(images)
        if batch_size < 1:
            raise BatchError(f"batch_size must be at least 1, not {batch_size}")
        results: list[Any] = []
        for start in range(0, len(images), batch_size):
            part = images[start : start + batch_size]
            pixels = part if isinstance(part, Tensor) else read_images(part, self.backbone.image_size)
            if regions:
                results += predictions(self.region_scores(pixels, batch_size), self.labels.names)
            else:
                rows = self.probabilities(pixels, batch_size).tolist()
                results += [dict(zip(self.labels.names, row, strict=True)) for row in rows]
        return results

    def probabilities(self, images: Tensor, batch_size: int = 64) -> Tensor:
        """Return probabilities (B, classes) of uint8 images (B, 3, H, W), on the CPU, in the order of `labels`."""
        if self.settings.predictor == "regions":
            return self.region_scores(images, batch_size).joined
        check_images(images)
        parts = [images[start : start + batch_size] for start in range(0, len(images), batch_size)]
        with self.model.looking():
            scores = [torch.sigmoid(self.model.judge(self._fit(part)).float()).cpu() for part in parts]
        return torch.cat(scores) if len(images) else torch.zeros(0, len(self.labels))

    def region_scores(self, images: Tensor, batch_size: int = 64) -> RegionScores:
        """Return what uint8 images (B, 3, H, W) and their regions say, on the CPU, in the order of `labels`."""
        check_images(images)
        predictor = RegionPredictor(self.model, self.cut_settings)
        starts = range(0, len(images), batch_size)
        with self.model.looking():
            parts = [predictor(self._fit(images[start : start + batch_size])).cpu() for start in starts]
        return RegionScores.joining(parts, len(self.labels))

    def cut(self, images: Tensor, rounds: int | None = None) -> Regions:
        """Find up to `rounds` regions in each of some uint8 images (B, 3, H, W), as the model sees them now.

        By default as many as in learning. All images are looked at together.
        """
        check_images(images)
        if not len(images):
            raise BatchError("there is no image to cut")
        with self.model.looking():
            view = self.model(self._fit(images))
        return own_regions(view.patches, view.grid, self.cut_settings, rounds or self.settings.rounds)

    def save(self, folder: str | Path) -> None:
        """Write the learner into a folder: whole or not at all. Only an earlier save is replaced."""
        place = Path(folder).expanduser().resolve()
        try:
            save_states(place, {"learner": self.state_dict()})
        except OSError as error:
            raise CheckpointError(
                f"the learner cannot be saved in {place}: {error}. Nothing there has changed; "
                "make room, or choose another folder"
            ) from error

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Learner:
        """Read a learner that goes on exactly where it was saved: by `save`, or at the newest checkpoint of a run.

        Where that checkpoint is damaged, the one before it is read, with a warning.
        """
        return cls.from_state(load_state(find_saved(Path(folder).expanduser()), "learner"), device)

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before, the backbone's architecture included."""
        state = self.optimizer.state_dict()["state"]
        return {
            "format": FORMAT,
            "settings": self.settings.model_dump(mode="json"),
            "backbone": self.backbone.describe(),
            "labels": list(self.labels),
            "blocks": self.model.head.blocks,
            "steps": self.steps,
            "model": self.model.state_dict(),
            "optimizer": {str(index): values for index, values in state.items()},
            "generator": self.generator.get_state(),
            "memory": self.memory.state_dict(),
            "teacher": self.teacher.state_dict(),
            "confusion": self.confusion.state_dict(),
            "localiser": _localiser_state(self.localiser),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], device: str = "auto") -> Learner:
        """Build the learner that a state describes."""
        if state.get("format") != FORMAT:
            raise CheckpointError(f"saved in format {state.get('format')}, but this version reads format {FORMAT}")
        settings = restored(LearnerSettings, state["settings"])
        backbone = Backbone.from_description(state["backbone"])
        learner = cls(settings, backbone, device, _localiser_of(state["localiser"]))
        names = iter(state["labels"])
        for count in state["blocks"]:
            learner._grow([next(names) for _ in range(count)])
        learner.model.load_state_dict(state["model"])
        groups = learner.optimizer.state_dict()["param_groups"]
        moments = {int(index): values for index, values in state["optimizer"].items()}
        learner.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        learner.memory.load_state_dict(state["memory"])
        learner.teacher.load_state_dict(state["teacher"])
        learner.confusion.load_state_dict(state["confusion"])
        learner.generator.set_state(state["generator"])
        learner.steps = state["steps"]
        return learner

    def _align(self, batch: Batch) -> Batch:
        """Take up new classes, and give the batch the learner's columns, device and image size."""
        if new := [name for name in batch.names if name not in self.labels]:
            LabelSpace(new)  # a wrong name, or a file that can't be read, is told before anything changes
            file, dim = self.settings.word_vectors, self.settings.word_dim
            vectors = None if file is None else vectors_of_names(file, dim, new)
            self._grow(new)
            if vectors is not None:
                self.model.head.take_words(vectors)
        return replace(batch.aligned(self.labels.names), images=self._fit(batch.images)).to(self.device)

    def _grow(self, names: Sequence[str]) -> None:
        """Add classes: the task before is over, and its model goes to the teacher."""
        if len(self.labels):
            self.teacher.begin_task(self.model)
        self.labels.add(names)
        rows = self.model.head.grow(len(names), self.device, self.generator)
        self.optimizer.add_param_group({"params": rows, "lr": self.settings.head_lr})

    def _as_batch(self, items: Sequence[Item]) -> Batch:
        unknown = self.settings.replay_unknown
        return as_batch(items, self.labels.names, self.backbone.image_size, unknown).to(self.device)

    def _judge(self, items: Sequence[Item]) -> tuple[Batch, Tensor]:
        """Return items of memory as a batch, and the scores that a prediction would give them."""
        batch = self._as_batch(items)
        with self.model.looking():
            return batch, torch.sigmoid(self.model.judge(batch.images, batch.visible).float())

    def _fit(self, images: Tensor) -> Tensor:
        return resize(images, self.backbone.image_size).to(self.device)

    def _look(self, images: Tensor) -> View:
        view: View = self.model(images)
        if not view.logits.isfinite().all():
            raise CuterError(f"scores are not finite at step {self.steps}: no weight was changed; try a smaller lr")
        return view

    def _logits_to_learn(self, view: View, guessed: Tensor) -> Tensor:
        """Return the logits of the stream (B, C); where the target is a guess, perhaps such as the head alone sees."""
        if self.settings.guesses_train == "model" or not guessed.any():
            return view.logits
        return torch.where(guessed, self.model.logits_for_head(view), view.logits)

    def _look_at_replay(self, replay: Batch) -> View:
        """Look at what is replayed; nothing costs nothing, and norms over a batch could not take it."""
        if not len(replay):
            return View.of_nothing(len(self.labels), self.backbone.embedding_dim, self.device)
        view: View = self.model(*augmented(replay, self.augment))
        return view

    def _step(self, loss: Tensor) -> None:
        if not torch.isfinite(loss):
            raise CuterError(f"the loss is {loss.item()} at step {self.steps}: no weight was changed; try a smaller lr")
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.steps += 1

    @contextmanager
    def _randomness(self) -> Iterator[None]:
        """Let everything that draws from torch's global generator draw from the learner's instead."""
        seed = int(torch.randint(2**62, (), generator=self.generator))
        devices = [] if self.device.type == "cpu" else [self.device]
        with torch.random.fork_rng(devices, device_type=self.device.type if devices else "cuda"):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would reseed every GPU, also the caller's
            if devices:
                getattr(torch, self.device.type).manual_seed(seed)
            yield


def _unit(images: Tensor) -> Tensor:
    return images.float() / 255


def _localiser_state(localiser: Localiser | None) -> dict[str, Any]:
    """Return a frozen localiser with its weights: a run must go on without the place that they came from."""
    if localiser is None:
        return {}
    return {
        "backbone": localiser.backbone.describe(),
        "cut": asdict(localiser.settings),
        "model": localiser.backbone.state_dict(),
    }


def _localiser_of(state: dict[str, Any]) -> Localiser | None:
    if not state:
        return None
    backbone = Backbone.from_description(state["backbone"])
    backbone.load_state_dict(state["model"])
    return Localiser(backbone, CutSettings(**state["cut"]))
