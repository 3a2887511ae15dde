"""The learner: Algorithm 1 of the paper, built from exchangeable parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

import torch
from PIL.Image import Image
from torch import Tensor

from cuter.backbone import Backbone, load_backbone
from cuter.cut import Localiser, Regions
from cuter.errors import BatchError, ConfigError, CuterError
from cuter.learn import checkpoint
from cuter.learn.calibration import Calibration, fit_calibration
from cuter.learn.devices import choose_device
from cuter.learn.draws import DRAWS
from cuter.learn.heads import HEADS
from cuter.learn.keepers import KEEPERS, RequiredVectors
from cuter.learn.localise import choose_cut, load_localiser, make_localise, own_regions
from cuter.learn.losses import asymmetric_loss
from cuter.learn.model import Model, View
from cuter.learn.predictors import PREDICTORS, Prediction, Predictor, RegionPredictor, RegionScores, predictions
from cuter.learn.recipe import METHODS
from cuter.learn.regularise import make_regulariser
from cuter.learn.replay import as_batch, augmented
from cuter.learn.settings import LearnerSettings
from cuter.learn.targets import TARGETS
from cuter.learn.teachers import TEACHERS
from cuter.memory import MEMORIES, Item
from cuter.settings import validated
from cuter.stream.augment import AUGMENTATIONS
from cuter.stream.batch import Batch, check_images
from cuter.stream.images import read_images
from cuter.stream.labels import LabelSpace
from cuter.stream.resize import resize

ImageSource = str | Path | bytes | Image

SHARED_LR = 1e-4  # of a head that shares parameters and has no setting for it


@dataclass(frozen=True, slots=True)
class Step:
    """What one call of `observe` did."""

    images: int = 0
    replayed: int = 0
    loss: float = 0.0
    selection: Mapping[str, int] = field(default_factory=dict)  # what became of its cut-outs


class Learner:
    """Learns from a stream of batches, each image seen once, and predicts at any time.

    `Learner.create` makes one by the name of a method. Classes are taken up by name when a batch brings them.

    Args:
        settings: A method, and the settings of its parts.
        backbone: The encoder, which is trained.
        device: cpu, cuda, mps, or auto.
        localiser: A frozen encoder that finds the regions, where the settings ask for one.

    Examples:
        >>> import torch
        >>> from cuter import Batch, Learner
        >>> learner = Learner.create("rs", backbone="toybox", device="cpu", memory={"images": 20})
        >>> images = torch.randint(256, (2, 3, 96, 96), dtype=torch.uint8)
        >>> step = learner.observe(Batch.of(images, [["cat"], ["dog", "cat"]]))
        >>> step.images, len(learner.memory)
        (2, 2)
        >>> [sorted(row) for row in learner.predict(images)]
        [['cat', 'dog'], ['cat', 'dog']]
    """

    def __init__(
        self, settings: LearnerSettings, backbone: Backbone, device: str = "auto", localiser: Localiser | None = None
    ):
        self.settings = settings
        self.device = choose_device(device)
        self.labels = LabelSpace()
        self.generator = torch.Generator().manual_seed(settings.seed)
        head = HEADS[settings.head.kind].create(settings.head, backbone.embedding_dim, self.generator)
        self.model = Model(backbone, head).to(self.device).train()  # a loaded encoder comes in evaluation mode
        self.criterion = partial(asymmetric_loss, reduction=settings.class_reduction)
        self.augment = AUGMENTATIONS[settings.augment.kind]()
        if settings.uses_localiser != (localiser is not None):
            raise ConfigError(
                f"localiser {settings.localiser.kind!r} and the localiser that was handed over do not agree"
            )
        self.localiser = localiser and localiser.to(self.device)
        backbone.precision = settings.precision
        if localiser is not None:
            localiser.backbone.precision = settings.precision
        self.cut_settings = choose_cut(settings, backbone)
        backbone.set_features(self.cut_settings.features)  # what the cut sees, and what regularisers act on
        self.localise = make_localise(settings, self.cut_settings, self.localiser)
        self.regularise = make_regulariser(settings, head)
        self.teacher = TEACHERS[settings.teacher.kind](settings.teacher)
        budget = settings.memory.images * backbone.image_size**2
        self.memory = MEMORIES[settings.memory.kind](budget, self.generator, settings.memory)
        self.draw = DRAWS[settings.replay.kind](settings.replay, self.memory, self._predict_items)
        self.vectors = RequiredVectors(self.memory.required_vectors, self.criterion)
        self.keeper = KEEPERS[settings.keeper.kind].create(settings.keeper, self.model, self.memory, self.vectors)
        self.targets = TARGETS[settings.targets.kind](settings.targets)
        self.predictor = PREDICTORS[settings.predictor.kind](self.model, self.cut_settings)
        self.optimizer = torch.optim.AdamW(
            backbone.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True
        )
        if shared := list(head.parameters()):
            self.optimizer.add_param_group({"params": shared, "lr": getattr(settings.head, "shared_lr", SHARED_LR)})
        self.calibration = Calibration()
        self.steps = 0
        self.images = 0  # learned so far
        self.label_counts: Counter[str] = Counter()  # images learned that show each class

    @classmethod
    def create(
        cls, method: str = "rs", *, backbone: str | PathLike[str] | Backbone, device: str = "auto", **settings: Any
    ) -> Learner:
        """Build a learner.

        Args:
            method: Name of a method; 'cuter methods' lists them.
            backbone: An encoder, or a name for `load_backbone`.
            device: cpu, cuda, mps, or auto.
            settings: Fields of `LearnerSettings`, which go before the choices of the method. A part is given by its
                name, or as a mapping with its name as 'kind'.

        Returns:
            A learner that has seen nothing yet.

        Raises:
            ConfigError: A setting is unknown or out of range; the message names it and what is accepted.

        Examples:
            >>> from cuter import Learner
            >>> memory = {"kind": "prs", "power": 0.1, "images": 20}
            >>> learner = Learner.create("cuter", backbone="toybox", device="cpu", memory=memory)
            >>> learner.settings.keeper.kind, learner.settings.memory.kind
            ('cut-outs', 'prs')
        """
        checked = validated(LearnerSettings, {"method": method, **settings})
        METHODS[method].require_learner(method)
        return cls.from_settings(checked, backbone, device)

    @classmethod
    def from_settings(
        cls, settings: LearnerSettings, backbone: str | PathLike[str] | Backbone, device: str = "auto"
    ) -> Learner:
        """Build a learner of these settings, also for a run whose method decides what is shown, such as `joint`."""
        if not isinstance(backbone, Backbone):
            backbone = load_backbone(backbone)
        return cls(settings, backbone, device, load_localiser(settings, backbone))

    @property
    def backbone(self) -> Backbone:
        """The encoder that is being trained."""
        return self.model.backbone

    def observe(self, batch: Batch) -> Step:
        """Learn from a batch, once, and keep what memory will have of it.

        Args:
            batch: Images and what is known of their labels; classes that are new are taken up. An empty one changes
                nothing.

        Returns:
            What was done: images, items that were replayed, the loss.

        Raises:
            BatchError: This is no batch, or a class has no name; nothing has changed.
            CuterError: Scores or the loss are not finite; no weight has changed.

        Examples:
            >>> import torch
            >>> from cuter import Batch, Learner
            >>> learner = Learner.create(backbone="toybox", device="cpu", memory={"images": 20})
            >>> images = torch.zeros(2, 3, 96, 96, dtype=torch.uint8)
            >>> learner.observe(Batch.of(images, [["cat"], []], known=["cat", "dog"])).images
            2
            >>> learner.labels.names
            ('cat', 'dog')
        """
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
            teacher = self.teacher(seen.images, view, batch)  # what the model of the task before says of it
            targets = self.targets(teacher.batch, view.logits)
            logits = self._logits_to_learn(view, guessed=targets.known & ~teacher.batch.known)
            loss = self.criterion(logits, targets.labels, targets.known) + self.regularise(view, targets) + teacher.loss
            replayed = self._look_at_replay(replay)
            replay_loss = self.criterion(replayed.logits, replay.labels, replay.known)
            loss = loss + self.settings.replay.weight * replay_loss
            kept = self.keeper(batch, view)  # before the step: images and cut-outs are seen by the same model
            self._step(loss)
            self.memory.refresh(drawn, self.vectors(replayed, replay.labels, replay.known))
            self.memory.offer(kept.items, invited=kept.invited)
            self.model.head.update_statistics(batch, view.embedding, teacher.old_logits)
            self.model.head.update_replay_statistics(replay, replayed.embedding)
        self.images += len(batch)
        self.label_counts.update(dict(zip(batch.names, batch.labels.sum(dim=0).tolist(), strict=True)))
        return Step(len(batch), len(replay), loss.item(), kept.selection)

    def rehearse(self) -> Step:
        """Take a step on what memory holds, without any new image.

        Returns:
            What was done. An empty memory changes nothing.

        Examples:
            >>> import torch
            >>> from cuter import Batch, Learner
            >>> learner = Learner.create(backbone="toybox", device="cpu", memory={"images": 20})
            >>> step = learner.observe(Batch.of(torch.zeros(2, 3, 96, 96, dtype=torch.uint8), [["cat"], []]))
            >>> learner.rehearse().replayed
            2
        """
        if not len(self.memory):
            return Step()
        with self._randomness():
            drawn = self.draw(self.steps)
            replay = self._as_batch(drawn)
            replayed = self._look_at_replay(replay)
            loss = self.criterion(replayed.logits, replay.labels, replay.known)
            self._step(loss)
            self.memory.refresh(drawn, self.vectors(replayed, replay.labels, replay.known))
            self.model.head.update_replay_statistics(replay, replayed.embedding)
        return Step(replayed=len(replay), loss=loss.item())

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

        Probabilities are calibrated: of images with 0.7 for a class, about 70 % show it, as far as `calibration` holds
        for them; 0.5 is the natural threshold. `scores` has what the model says before.

        Args:
            images: a uint8 tensor (B, 3, H, W), or paths, encoded bytes or Pillow images. One that cannot be read is an
                error: a row must not be missing.
            batch_size: images per forward.
            regions: look at regions of each image too, whatever the predictor of the settings is, and return a
                `Prediction`, which has the region that each class was seen in.

        Returns:
            A dictionary of probabilities by class for each image, or a `Prediction` for each.

        Raises:
            BatchError: These are no images.
            DataError: An image cannot be read.

        Examples:
            >>> import torch
            >>> from cuter import Batch, Learner
            >>> learner = Learner.create(backbone="toybox", device="cpu")
            >>> images = torch.zeros(2, 3, 96, 96, dtype=torch.uint8)
            >>> step = learner.observe(Batch.of(images, [["cat"], ["cat"]]))
            >>> [list(row) for row in learner.predict(images)]
            [['cat'], ['cat']]
        """
        return list(self.predict_each(images, batch_size, regions=regions))  # type: ignore[call-overload]

    @overload
    def predict_each(
        self, images: Tensor | Iterable[ImageSource], batch_size: int = 64, *, regions: Literal[False] = False
    ) -> Iterator[dict[str, float]]: ...
    @overload
    def predict_each(
        self, images: Tensor | Iterable[ImageSource], batch_size: int = 64, *, regions: Literal[True]
    ) -> Iterator[Prediction]: ...
    def predict_each(
        self, images: Tensor | Iterable[ImageSource], batch_size: int = 64, *, regions: bool = False
    ) -> Iterator[dict[str, float]] | Iterator[Prediction]:
        """Yield what `predict` returns, one by one: no more than a batch of images is held at a time.

        Args:
            images: As for `predict`; also a generator of paths that never ends.
            batch_size: As for `predict`.
            regions: As for `predict`.

        Examples:
            >>> from PIL import Image
            >>> from cuter import Learner
            >>> learner = Learner.create(backbone="toybox", device="cpu")
            >>> photos = (Image.new("RGB", (40, 30)) for _ in range(3))
            >>> sum(1 for row in learner.predict_each(photos, batch_size=2))
            3
        """
        if isinstance(images, str | bytes | Path | Image):
            raise BatchError("predict takes a list of images, even for one")
        if batch_size < 1:
            raise BatchError(f"batch_size must be at least 1, not {batch_size}")
        return self._predict_each(images, batch_size, regions)

    def _predict_each(self, images: Tensor | Iterable[ImageSource], batch_size: int, regions: bool) -> Iterator[Any]:
        for part in _in_parts(images, batch_size):
            pixels = part if isinstance(part, Tensor) else read_images(part, self.backbone.image_size)
            names = self.labels.names
            if regions:
                found = self.region_scores(pixels, batch_size)
                yield from predictions(replace(found, joined=self.calibration(found.joined, names)), names)
            else:
                rows = self.probabilities(pixels, batch_size).tolist()
                yield from (dict(zip(names, row, strict=True)) for row in rows)

    def probabilities(self, images: Tensor, batch_size: int = 64) -> Tensor:
        """Return probabilities (B, classes) of uint8 images (B, 3, H, W), on the CPU, in the order of `labels`."""
        return self.calibration(self.scores(images, batch_size), self.labels.names)

    def scores(self, images: Tensor, batch_size: int = 64) -> Tensor:
        """Return scores (B, classes) of uint8 images, as `probabilities` before calibration.

        Metrics at the thresholds of the literature are computed of these.
        """
        return self._predict(self.predictor, images, batch_size).joined

    def calibrate(self, batch: Batch, batch_size: int = 64) -> Calibration:
        """Fit what makes probabilities of scores to labelled images that were not learned.

        Args:
            batch: Images held back from learning, with what is known of their labels. Classes that the learner does not
                know are passed over.
            batch_size: images per forward.

        Returns:
            The calibration, which is the learner's from now on.

        Examples:
            >>> import torch
            >>> from cuter import Batch, Learner
            >>> learner = Learner.create(backbone="toybox", device="cpu")
            >>> batch = Batch.of(torch.zeros(2, 3, 96, 96, dtype=torch.uint8), [["cat"], []])
            >>> step = learner.observe(batch)
            >>> learner.calibrate(batch).images
            2
        """
        check_images(batch.images)
        names = [name for name in batch.names if name in self.labels]
        own = [self.labels.column(name) for name in names]
        columns = [batch.names.index(name) for name in names]
        scores = self.scores(batch.images, batch_size)[:, own]
        self.calibration = fit_calibration(scores, batch.labels[:, columns], batch.known[:, columns], names)
        return self.calibration

    def forget(self, ids: Iterable[str]) -> Counter[str]:
        """Remove from memory all that comes from some images. Weights keep what they have learned of them.

        Args:
            ids: Ids of the images, as the batches had them.

        Returns:
            How many items each of them had in memory.

        Examples:
            >>> import torch
            >>> from cuter import Batch, Learner
            >>> learner = Learner.create(backbone="toybox", device="cpu", memory={"images": 20})
            >>> images = torch.zeros(2, 3, 96, 96, dtype=torch.uint8)
            >>> step = learner.observe(Batch.of(images, [["cat"], []], ids=["one.jpg", "two.jpg"]))
            >>> dict(learner.forget(["one.jpg"])), len(learner.memory)
            ({'one.jpg': 1}, 1)
        """
        return self.memory.forget(ids)

    def region_scores(self, images: Tensor, batch_size: int = 64) -> RegionScores:
        """Return what uint8 images (B, 3, H, W) and their regions say, on the CPU, in the order of `labels`."""
        return self._predict(RegionPredictor(self.model, self.cut_settings), images, batch_size)

    def _predict(self, predictor: Predictor, images: Tensor, batch_size: int) -> RegionScores:
        check_images(images)
        starts = range(0, len(images), batch_size)
        with self.model.inference():
            parts = [predictor(self._fit(images[start : start + batch_size])).cpu() for start in starts]
        return RegionScores.joining(parts, len(self.labels))

    def cut(self, images: Tensor, max_regions: int | None = None) -> Regions:
        """Find up to `max_regions` regions in each of some uint8 images (B, 3, H, W), as the model sees them now.

        By default as many as in learning. All images are looked at together.

        Examples:
            >>> import torch
            >>> from cuter import Learner
            >>> learner = Learner.create("cuter", backbone="toybox", device="cpu")
            >>> learner.cut(torch.zeros(1, 3, 96, 96, dtype=torch.uint8), max_regions=2).masks.shape[:2]
            torch.Size([1, 2])
        """
        check_images(images)
        if not len(images):
            raise BatchError("there is no image to cut")
        with self.model.inference():
            view = self.model(self._fit(images))
        return own_regions(
            view.patches, view.grid, self.cut_settings, max_regions or self.settings.localiser.max_regions
        )

    def save(self, folder: str | Path) -> None:
        """Write the learner into a folder: whole or not at all. Only an earlier save is replaced.

        Raises:
            CheckpointError: The folder cannot be written, or holds something else.
        """
        checkpoint.save(self, folder)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Learner:
        """Read a learner that goes on exactly where it was saved: by `save`, or at the newest checkpoint of a run.

        Where that checkpoint is damaged, the one before it is read, with a warning.

        Raises:
            CheckpointError: There is no learner, or none that this version reads.

        Examples:
            >>> import tempfile
            >>> from cuter import Learner
            >>> learner = Learner.create("krt", backbone="toybox", device="cpu")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     learner.save(f"{folder}/tagger")
            ...     loaded = Learner.load(f"{folder}/tagger", device="cpu")
            >>> loaded.settings == learner.settings
            True
        """
        return checkpoint.load(cls, folder, device)

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to go on exactly as before, the backbone's architecture included."""
        return checkpoint.state_of(self)

    @classmethod
    def from_state(cls, state: dict[str, Any], device: str = "auto") -> Learner:
        """Build the learner that a state describes."""
        return checkpoint.restore(cls, state, device)

    def to(self, device: str) -> Learner:
        """Move the learner to a device; return the learner."""
        moved = self.from_state(self.state_dict(), device)
        self.__dict__.update(moved.__dict__)
        return self

    def __repr__(self) -> str:
        settings, memory = self.settings, self.memory
        return (
            f"Learner(method={settings.method!r}, backbone={self.backbone.name!r}, classes={len(self.labels)}, "
            f"steps={self.steps}, memory={settings.memory.kind!r} with {len(memory)} items, {memory.fill:.0%} full, "
            f"device={str(self.device)!r})"
        )

    def _align(self, batch: Batch) -> Batch:
        """Take up new classes, and give the batch the learner's columns, device and image size."""
        if new := [name for name in batch.names if name not in self.labels]:
            LabelSpace(new)  # a wrong name, or a file that can't be read, is an error before anything changes
            self.model.head.prepare(new)
            self.grow(new)
        return replace(batch.aligned(self.labels.names), images=self._fit(batch.images)).to(self.device)

    def grow(self, names: Sequence[str]) -> None:
        """Add classes: the task before is over, and its model goes to the teacher."""
        if len(self.labels):
            self.teacher.begin_task(self.model)
        self.labels.add(names)
        rows = self.model.head.grow(names, self.device, self.generator)
        self.optimizer.add_param_group({"params": rows, "lr": self.settings.head.lr})

    def _as_batch(self, items: Sequence[Item]) -> Batch:
        unknown = self.settings.replay.unknown
        return as_batch(items, self.labels.names, self.backbone.image_size, unknown).to(self.device)

    def _predict_items(self, items: Sequence[Item]) -> tuple[Batch, Tensor]:
        """Return items of memory as a batch, and the scores that a prediction would give them."""
        batch = self._as_batch(items)
        with self.model.inference():
            return batch, torch.sigmoid(self.model.predict_logits(batch.images, batch.visible).float())

    def _fit(self, images: Tensor) -> Tensor:
        return resize(images, self.backbone.image_size).to(self.device)

    def _look(self, images: Tensor) -> View:
        view: View = self.model(images)
        if not view.logits.isfinite().all():
            raise CuterError(f"scores are not finite at step {self.steps}: no weight was changed; try a smaller lr")
        return view

    def _logits_to_learn(self, view: View, guessed: Tensor) -> Tensor:
        """Return the logits of the stream (B, C); where the target is a guess, perhaps such as the head alone sees."""
        if not self.targets.guesses_train_head_only or not guessed.any():
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


def _in_parts(images: Tensor | Iterable[ImageSource], size: int) -> Iterator[Tensor | list[ImageSource]]:
    """Return images some at a time."""
    if isinstance(images, Tensor):
        yield from (images[start : start + size] for start in range(0, len(images), size))
    else:
        rest = iter(images)
        while part := list(islice(rest, size)):
            yield part


def _unit(images: Tensor) -> Tensor:
    return images.float() / 255
