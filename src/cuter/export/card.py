"""The card of an exported model: what it is, how it is used, what it cannot do."""

from collections.abc import Mapping
from typing import Any

CARD = """\
---
library_name: transformers
pipeline_tag: image-classification
tags: [multi-label, continual-learning, cuter]
---

# {title}

Says for each of {count} classes how probable it is that an image shows it. Several classes can be in one image.

## How to use it

```python
from transformers import pipeline

folder = "."  # of this file
tagger = pipeline("image-classification", model=folder, function_to_apply="sigmoid", top_k={count})
for tag in tagger("photo.jpg"):
    print(tag["label"], round(tag["score"], 2))
```

Without `top_k={count}` a pipeline shows the five best alone, also with `top_k=None`. A class counts as shown from a
score of {threshold} on.

## How it was made

- Method: `{method}` of cuter {version}, which learns from a stream of images, each seen once.
- Backbone: `{backbone}`, trained along.
- Images learned: {images:,}.
- Calibration: {calibration}
- Check: on {checked} images the largest difference between a score of this folder and the learner's own was
  {difference:.1e}.

| class | images learned that show it |
|---|---:|
{rows}

## Licence

No licence is stated here. The weights come from those of `{backbone}` and from the images that were
learned; the terms of both apply.

## Limits

- Images are squashed to {size}×{size} pixels, bilinear with antialias, whatever their shape. transformers does so with
  Pillow or torchvision, whose pixels differ by a grey level here and there.
- It knows the classes above and nothing else: what it was never taught, it cannot name.
- Probabilities hold for images like those that it was calibrated on.
{notes}"""


def model_card(facts: Mapping[str, Any]) -> str:
    """Return the card of a folder in Hugging Face layout."""
    fitted = facts["calibration_images"]
    return CARD.format(
        title=f"{facts['method']} on {facts['backbone']}",
        count=len(facts["labels"]),
        threshold=facts["threshold"],
        method=facts["method"],
        version=facts["cuter"],
        backbone=facts["backbone"],
        images=facts["images_learned"],
        calibration=f"fitted on {fitted:,} images that were not learned." if fitted else "not fitted to images.",
        checked=facts["check"]["images"],
        difference=facts["check"]["largest_difference"],
        rows="\n".join(f"| {_cell(name)} | {count:,} |" for name, count in facts["label_counts"].items()),
        size=facts["image_size"],
        notes="".join(f"- {note}\n" for note in facts["notes"]),
    )


def _cell(name: str) -> str:
    return name.replace("|", "\\|")
