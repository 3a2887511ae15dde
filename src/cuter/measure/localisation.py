"""How well boxes are found: CorLoc, class-agnostic AP50, and how far means and rankings over images can be trusted.

Boxes are half-open x1, y1, x2, y2 in pixels, arrays of shape (k, 4); k may be 0. Shares are from 0 to 1.
"""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuter.errors import BatchError, ConfigError, DataError


def overlaps(boxes: NDArray[Any], truths: NDArray[Any]) -> NDArray[np.float64]:
    """Return the intersection over union of all pairs, (k, m); a box without area overlaps nothing."""
    boxes, truths = _checked(boxes), _checked(truths)
    corner = np.maximum(boxes[:, None, :2], truths[None, :, :2])
    opposite = np.minimum(boxes[:, None, 2:], truths[None, :, 2:])
    common = _area(corner, opposite)
    union = _area(boxes[:, None, :2], boxes[:, None, 2:]) + _area(truths[None, :, :2], truths[None, :, 2:]) - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


def corloc(found: Sequence[NDArray[Any]], truths: Sequence[NDArray[Any]]) -> float:
    """Return the share of images where a found box overlaps a true one by more than half (CorLoc).

    Every box of an image is another chance: for CorLoc as it is published give only the first region of each.
    An image without a found box is a miss; one without a true box is left out, since nothing in it can be hit.
    """
    _check_images(found=found, truths=truths)
    hits = [
        bool((overlaps(boxes, true) > 0.5).any()) for boxes, true in zip(found, truths, strict=True) if len(true) > 0
    ]
    return float(np.mean(hits))


def average_precision_50(
    found: Sequence[NDArray[Any]], scores: Sequence[NDArray[Any]], truths: Sequence[NDArray[Any]]
) -> float:
    """Return COCO's AP at IoU 0.50, all boxes being of one class, over the 100 best-scored boxes of each image.

    - pycocotools measures it: precision at 101 levels of recall. An IoU of exactly 0.5 is a hit, other than in CorLoc.
    - An image without a true box counts: all that was found in it is false. So is a box without area.
    - Scores rank the boxes of all images together; among equal scores the earlier image comes first.
    """
    _check_images(found=found, scores=scores, truths=truths)
    for image, (boxes, values) in enumerate(zip(found, scores, strict=True)):
        if np.shape(values) != (len(boxes),) or np.isnan(values).any():
            raise BatchError(f"image {image} needs {len(boxes)} scores, one number a found box, not {values}")

    from pycocotools.cocoeval import COCOeval

    with redirect_stdout(io.StringIO()):  # pycocotools reports every step
        evaluation = COCOeval(_coco(truths), _coco(found, scores), "bbox")
        params = evaluation.params
        params.iouThrs, params.maxDets = np.array([0.5]), [100]
        params.areaRng, params.areaRngLbl = params.areaRng[:1], params.areaRngLbl[:1]  # 'all'
        evaluation.evaluate()
        evaluation.accumulate()
    return float(evaluation.eval["precision"].mean())


def mean_interval(values: Sequence[float] | NDArray[Any], level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean and the ends of its confidence interval by Student's t.

    One value says nothing about how much values vary: its interval is (nan, nan).
    """
    array = np.asarray(values, dtype=np.float64)
    if not array.size:
        raise DataError("the mean of no values is not defined; at least one is needed")
    if not 0 < level < 1:
        raise ConfigError(f"the level of confidence must be between 0 and 1, not {level}")
    mean = float(array.mean())
    if array.size == 1:
        return mean, float("nan"), float("nan")

    from scipy.stats import t

    # Not t.interval, which gives nan for values that are all the same.
    reach = float(t.ppf((1 + level) / 2, array.size - 1) * array.std(ddof=1) / np.sqrt(array.size))
    return mean, mean - reach, mean + reach


def rank_correlation(first: Sequence[float] | NDArray[Any], second: Sequence[float] | NDArray[Any]) -> float | None:
    """Return Spearman's rho; None where it says nothing: fewer than 3 points, a constant side, or a NaN."""
    if len(first) != len(second):
        raise BatchError(f"a rank correlation needs pairs, not {len(first)} values and {len(second)}")
    pairs = np.array([first, second], dtype=np.float64)
    if pairs.shape[1] < 3 or np.isnan(pairs).any() or (pairs == pairs[:, :1]).all(axis=1).any():
        return None

    from scipy.stats import spearmanr

    return float(spearmanr(*pairs).statistic)


def _checked(boxes: NDArray[Any]) -> NDArray[np.float64]:
    """Return boxes as float64, or refuse them: pycocotools would ignore a box of negative area, not count it false."""
    array = np.asarray(boxes, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise BatchError(f"boxes must have shape (k, 4) for x1, y1, x2, y2, not {array.shape}")
    # Written so that NaN, which fails every comparison, is a fault too.
    faults = ~(array[:, :2] <= array[:, 2:]).all(axis=1)
    if faults.any():
        raise BatchError(f"a box must have x1 ≤ x2 and y1 ≤ y2, not {array[faults][0].tolist()}")
    return array


def _check_images(**by_image: Sequence[NDArray[Any]]) -> None:
    """Refuse lists that do not go over the same images, or that hold nothing to be found."""
    if len({len(images) for images in by_image.values()}) > 1:
        counts = ", ".join(f"{len(images)} of {name}" for name, images in by_image.items())
        raise BatchError(f"each image needs an entry in every list, not {counts}")
    if not any(len(true) for true in by_image["truths"]):
        raise DataError("no image has a true box, so there is nothing to be found; at least one box is needed")


def _area(corner: NDArray[np.float64], opposite: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return width times height; 0 where the corners of an intersection have passed each other."""
    sides: NDArray[np.float64] = np.maximum(opposite - corner, 0)
    area: NDArray[np.float64] = sides.prod(axis=-1)
    return area


def _coco(boxes: Sequence[NDArray[Any]], scores: Sequence[NDArray[Any]] | None = None) -> Any:
    """Index boxes as pycocotools wants them; its `loadRes` would do for found boxes, but fails where there is none.

    Ids count from 1, because pycocotools takes a match with id 0 for no match.
    """
    from pycocotools.coco import COCO

    annotations: list[dict[str, Any]] = []
    for image, array in enumerate(boxes):
        for index, (x1, y1, x2, y2) in enumerate(_checked(array).tolist()):
            width, height = x2 - x1, y2 - y1
            annotation = {
                "id": len(annotations) + 1,
                "image_id": image + 1,
                "category_id": 1,
                "bbox": [x1, y1, width, height],
                "area": width * height,
                "iscrowd": 0,
            }
            annotations.append(annotation if scores is None else annotation | {"score": float(scores[image][index])})
    coco = COCO()
    images = [{"id": image + 1} for image in range(len(boxes))]
    coco.dataset = {"images": images, "categories": [{"id": 1}], "annotations": annotations}
    coco.createIndex()
    return coco
