"""The cut-out keeper (paper, Sec. 2.2): regions that the model recognises as exactly one of the image's labels."""

from collections import Counter
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from cuter.learn.keepers import Kept, WantedVectors, WholeImages, row_of
from cuter.learn.model import Model, View
from cuter.learn.selection import KEPT, OTHER_LABEL, TWO_LABELS, UNSURE, Candidates, Verdicts
from cuter.memory import Item
from cuter.stream.batch import Batch
from cuter.stream.resize import resize

NO_REGION, WHOLE_IMAGE = "no region", "whole image"
OUTCOMES = (KEPT, NO_REGION, OTHER_LABEL, UNSURE, TWO_LABELS)

Select = Callable[[Candidates], Verdicts]
Lacks = Callable[[int], Tensor]  # which of so many classes memory lacks, (C,)


class CutOuts:
    """Offers the certain cut-outs of a batch, each as an item of one class.

    They are cut from the images as they came: what augmentation did to the geometry is undone, so that memory holds
    true pixels at their native size, and replay augments them afresh.
    """

    def __init__(self, model: Model, select: Select, vectors: WantedVectors, lacks: Lacks | None = None):
        self.model = model
        self.select = select
        self.vectors = vectors  # that items must come with
        self.lacks = lacks  # if given, whole images stand in for cut-outs of these classes

    def __call__(self, batch: Batch, view: View) -> Kept:
        """Offer the certain cut-outs and, in place of those that are missing, whole images of classes that starve."""
        items, of, selection = self._cut_outs(batch, view)
        if self.lacks is not None and batch.names:
            starves = (batch.labels.cpu() & self.lacks(batch.labels.shape[1])).any(dim=1)
            starves[of] = False
            whole = WholeImages(self.vectors)(batch, view).items
            instead = [item for item, is_lacking in zip(whole, starves.tolist(), strict=True) if is_lacking]
            items, selection[WHOLE_IMAGE] = [*items, *instead], len(instead)
        return Kept(items, selection)

    def _cut_outs(self, batch: Batch, view: View) -> tuple[list[Item], list[int], Counter[str]]:
        """Look at all cut-outs once more, in one forward: return the certain ones, their images, and the counts."""
        assert view.boxes is not None
        found = [
            (index, (x1, y1, x2, y2))
            for index, boxes in enumerate(view.boxes.tolist())
            for x1, y1, x2, y2 in boxes
            if x1 < x2 and y1 < y2
        ]
        selection = Counter(dict.fromkeys(OUTCOMES, 0))
        selection[NO_REGION] = view.boxes.shape[0] * view.boxes.shape[1] - len(found)
        if not found or not batch.names:
            return [], [], selection
        crops = [batch.images[index, :, y1:y2, x1:x2] for index, (x1, y1, x2, y2) in found]
        of = [index for index, _ in found]
        seen = self._look(crops, size=batch.images.shape[-1])
        candidates = Candidates(
            scores=torch.sigmoid(seen.logits.float()),
            image_scores=torch.sigmoid(view.logits.detach().float())[of],
            labels=batch.labels[of],
            known=batch.known[of],
        )
        verdicts = self.select(candidates)
        selection.update(verdicts.reasons)
        shown = F.one_hot(verdicts.columns, len(batch.names)).bool()
        vectors = self.vectors(seen, shown, torch.ones_like(shown))  # replay too says: this class alone
        labels, known = shown.cpu(), candidates.known.cpu()
        certain = [n for n, reason in enumerate(verdicts.reasons) if reason == KEPT]
        items = [
            Item(crops[n].cpu(), labels[n], known[n], batch.ids[of[n]], found[n][1], **row_of(vectors, n))
            for n in certain
        ]
        return items, [of[n] for n in certain], selection

    def _look(self, crops: list[Tensor], size: int) -> View:
        """Look at crops, resized to what the model sees."""
        images = torch.cat([resize(pixels[None], size) for pixels in crops])
        with self.model.looking():
            view: View = self.model(images)
        return view
