"""The cut-out keeper (paper, Sec. 2.2): regions that the model recognises as exactly one of the image's labels."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar

import torch
import torch.nn.functional as F
from pydantic import Field, SerializeAsAny
from torch import Tensor

from cuter.cut.regions import bounding_boxes
from cuter.errors import ConfigError
from cuter.learn.keepers.base import KEEPERS, Keeper, Kept, RequiredVectors, row_of
from cuter.learn.keepers.selection import (
    KEPT,
    OTHER_LABEL,
    SELECTIONS,
    TWO_LABELS,
    UNSURE,
    Candidates,
    Invited,
    Lacking,
    Select,
)
from cuter.learn.keepers.whole_images import WholeImages
from cuter.learn.model import Model, View
from cuter.memory import Item, Memory
from cuter.memory.patches import pack
from cuter.settings import Part, PartSettings, kind
from cuter.stream.batch import Batch
from cuter.stream.resize import enlarged

NO_REGION, NO_PLACE, WHOLE_IMAGE = "no region", "no place in memory", "whole image"
OUTCOMES = (KEPT, NO_REGION, OTHER_LABEL, UNSURE, TWO_LABELS, NO_PLACE)

Box = tuple[int, int, int, int]
Region = TypeVar("Region")
Lacks = Callable[[int], Tensor]  # which of so many classes memory lacks, (C,)
Invites = Callable[[Tensor], Tensor | None]  # which labels of images (B, C) memory has a place for


class Shape(Protocol[Region]):
    """What a cut-out is."""

    def found(self, view: View) -> list[tuple[int, Region]]:
        """Return those of a view, each with the number of its image."""

    def look(self, model: Model, images: Tensor, found: list[tuple[int, Region]]) -> View:
        """Let the model look at them, and at nothing else of the images."""

    def kept(self, image: Tensor, region: Region) -> dict[str, Any]:
        """Return what memory keeps of one, as fields of an item."""


class Boxes:
    """Boxes around regions: pixels at their native size, resized to what the model sees."""

    def found(self, view: View) -> list[tuple[int, Box]]:
        """Return the boxes in pixels of the images before augmentation."""
        assert view.boxes is not None
        return [
            (index, (x1, y1, x2, y2))
            for index, boxes in enumerate(view.boxes.tolist())
            for x1, y1, x2, y2 in boxes
            if x1 < x2 and y1 < y2
        ]

    def look(self, model: Model, images: Tensor, found: list[tuple[int, Box]]) -> View:
        """Look at the resized boxes."""
        indices, boxes = zip(*found, strict=True)
        view: View = model(enlarged(images[list(indices)], boxes))
        return view

    def kept(self, image: Tensor, region: Box) -> dict[str, Any]:
        """Return the fields of an item."""
        x1, y1, x2, y2 = region
        return {"image": image[:, y1:y2, x1:x2].cpu(), "box": region}


@dataclass(frozen=True, slots=True)
class Patches:
    """The patches of regions, where they are and as large as they are: nothing else goes through the model.

    rim: how many patches are added around a region. A cut follows what stands out, and often leaves out legs and edges.
    """

    rim: int = 0

    def found(self, view: View) -> list[tuple[int, Tensor]]:
        """Return the masks on the grid of the images before augmentation."""
        assert view.masks is not None
        grown = F.max_pool2d(view.masks.float(), 2 * self.rim + 1, stride=1, padding=self.rim).bool()
        return [(index, masks[round]) for index, masks in enumerate(grown) for round in _filled(masks)]

    def look(self, model: Model, images: Tensor, found: list[tuple[int, Tensor]]) -> View:
        """Look at the visible patches."""
        view: View = model(images[[index for index, _ in found]], torch.stack([mask for _, mask in found]))
        return view

    def kept(self, image: Tensor, region: Tensor) -> dict[str, Any]:
        """Return the fields of an item."""
        mask = region.cpu()
        x1, y1, x2, y2 = (bounding_boxes(mask) * (image.shape[1] // mask.shape[0])).tolist()
        return {"image": pack(image.cpu(), mask), "box": (x1, y1, x2, y2), "mask": mask}


def _filled(masks: Tensor) -> list[int]:
    filled: list[int] = masks.flatten(1).any(dim=1).nonzero().flatten().tolist()
    return filled


class CutOutsSettings(PartSettings):
    """Settings of the cut-out keeper."""

    shape: Literal["boxes", "patches", "auto"] = Field(
        "boxes",
        description="boxes around regions, resized to what the model sees, or the patches of regions where they are, "
        "without the rest of the image. auto: patches with a transformer, boxes with a CNN.",
    )
    rim: int = Field(0, ge=0, le=100, description="Cut-outs of patches: patches added around a region.")
    selection: Annotated[SerializeAsAny[PartSettings], Part(SELECTIONS)] = kind(
        "paper", "Which cut-outs are certain enough to be kept."
    )
    fallback: Literal["none", "whole-image"] = Field(
        "none",
        description="What is kept of an image without a certain cut-out if memory lacks its class: none, or the "
        "whole-image.",
    )


@KEEPERS.register("cut-outs")
class CutOuts(Keeper):
    """Offers the certain cut-outs of a batch, each as an item of one class.

    They are cut from the images as they came: what augmentation did to the geometry is undone, so that memory holds
    true pixels at their native size, and replay augments them afresh.
    """

    Settings: ClassVar[type[PartSettings]] = CutOutsSettings

    def __init__(
        self,
        model: Model,
        shape: Shape[Any],
        select: Select,
        vectors: RequiredVectors,
        *,
        lacks: Lacks | None = None,
        invites: Invites | None = None,
    ):
        self.model = model
        self.shape = shape
        self.select = select
        self.vectors = vectors  # that items must come with
        self.lacks = lacks  # if given, whole images stand in for cut-outs of these classes
        self.invites = invites  # if given, nothing is looked at for which memory has no place

    @classmethod
    def create(cls, settings: CutOutsSettings, model: Model, memory: Memory, vectors: RequiredVectors) -> Self:
        """Make a keeper for what a model can cut out: a CNN has no patches that could be left out."""
        is_cnn = model.backbone.is_cnn
        if settings.shape == "patches" and is_cnn:
            raise ConfigError(
                f"{model.backbone.name} is a CNN, which has no patches that could be left out: cut-outs must be boxes "
                "(keeper.shape)"
            )
        return cls(
            model,
            Boxes() if settings.shape == "boxes" or is_cnn else Patches(settings.rim),
            SELECTIONS[settings.selection.kind](settings.selection, memory),
            vectors,
            lacks=Lacking(memory) if settings.fallback == "whole-image" else None,
            invites=Invited(memory, model.backbone.image_size**2),
        )

    def __call__(self, batch: Batch, view: View) -> Kept:
        """Offer the certain cut-outs and, in place of those that are missing, whole images of classes that starve."""
        labels = batch.labels.cpu()
        invited = self.invites(labels) if self.invites else None
        wanted = labels if invited is None else invited
        items, of, selection = self._cut_outs(batch, view, wanted)
        if self.lacks is not None and batch.names:
            starves = (wanted & self.lacks(labels.shape[1])).any(dim=1)
            starves[of] = False
            whole = WholeImages(self.vectors)(batch, view).items
            instead = [item for item, is_lacking in zip(whole, starves.tolist(), strict=True) if is_lacking]
            items, selection[WHOLE_IMAGE] = [*items, *instead], len(instead)
        return Kept(items, selection, invited is not None)

    def _cut_outs(self, batch: Batch, view: View, wanted: Tensor) -> tuple[list[Item], list[int], Counter[str]]:
        """Look at cut-outs once more, all in one forward: return the certain ones, their images, and the counts.

        What is wanted (B, C) are the labels that memory has a place for.
        """
        assert view.boxes is not None
        everything = self.shape.found(view)
        found = [(index, region) for index, region in everything if wanted[index].any()]
        selection = Counter(dict.fromkeys(OUTCOMES, 0))
        selection[NO_REGION] = view.boxes.shape[0] * view.boxes.shape[1] - len(everything)
        selection[OTHER_LABEL] = sum(not batch.labels[index].any() for index, _ in everything)  # the image has none
        selection[NO_PLACE] = len(everything) - len(found) - selection[OTHER_LABEL]
        if not found or not batch.names:
            return [], [], selection
        of = [index for index, _ in found]
        with self.model.inference():
            seen = self.shape.look(self.model, batch.images, found)
        candidates = Candidates(
            scores=torch.sigmoid(seen.logits.float()),
            image_scores=torch.sigmoid(view.logits.detach().float())[of],
            labels=batch.labels[of],
            known=batch.known[of],
        )
        verdicts = self.select(candidates)
        shown = F.one_hot(verdicts.columns, len(batch.names)).bool()
        has_place = (shown.cpu() & wanted[of]).any(dim=1).tolist()
        reasons = [
            NO_PLACE if reason == KEPT and not place else reason
            for reason, place in zip(verdicts.reasons, has_place, strict=True)
        ]
        selection.update(reasons)
        vectors = self.vectors(seen, shown, torch.ones_like(shown))  # replay too says: this class alone
        labels, known = shown.cpu(), candidates.known.cpu()
        certain = [n for n, reason in enumerate(reasons) if reason == KEPT]
        items = [
            Item(
                labels=labels[n],
                known=known[n],
                id=batch.ids[of[n]],
                **self.shape.kept(batch.images[of[n]], found[n][1]),
                **row_of(vectors, n),
            )
            for n in certain
        ]
        return items, [of[n] for n in certain], selection
