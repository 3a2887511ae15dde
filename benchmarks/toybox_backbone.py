"""Which training makes a small transformer cut best: none, with labels, or multi-crop self-supervision.

    python benchmarks/toybox_backbone.py                      # the shipped one, beside two of its architecture
    python benchmarks/toybox_backbone.py --backbone FOLDER    # another one that `cuter pretrain` made

The one with labels learns the classes of close-ups, the same kind of pictures, for --minutes: by default as long as the
one in the package took. Each backbone gets the features and the graph that suit it best on train scenes; the table is
of test scenes. 'probe' is the mAP of logistic regressions on the frozen embeddings of 2,000 train scenes: how much the
backbone knows of the classes.
"""

import argparse
import itertools
import time
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from cuter.backbone import Backbone, load_backbone, untrained_vit
from cuter.cut import fiedler_values, gaussian_affinity, mask_cut
from cuter.cut.graph import unit_features
from cuter.measure.localisation import corloc
from cuter.pretrain.crops import View, make_view
from cuter.pretrain.trainer import rising_then_falling
from cuter.toybox import CLASSES, Scene, Split, draw_scene

QUANTILES = torch.tensor([0.3, 0.4, 0.5, 0.6, 0.7])  # of cosines: thresholds that suit features of any kind
LOOPS = (0.0, 1.0)
FOR_PROBE = 2000
CLOSE_UPS = 10_000


def scenes(split: Split, count: int, seed: int) -> tuple[list[Scene], Tensor]:
    """Render scenes; images (N, 3, 128, 128)."""
    drawn = [draw_scene(split, number, seed) for number in range(count)]
    return drawn, torch.from_numpy(np.stack([np.asarray(one.image) for one in drawn])).permute(0, 3, 1, 2)


def patches(backbone: Backbone, images: Tensor, features: str) -> tuple[Tensor, tuple[int, int]]:
    """Return patch features (N, n, d) and the grid."""
    backbone.set_features(features)
    with torch.no_grad():
        found = [backbone.eval()(some) for some in images.split(50)]
    return torch.cat([one.patches for one in found]), found[0].grid


def thresholds(features: Tensor) -> list[float]:
    """Return cosines that so many pairs of patches stay below, with two digits."""
    units = unit_features(features[:100])
    return [round(tau, 2) for tau in (units @ units.mT).flatten()[::97].quantile(QUANTILES).tolist()]


def score(seen: tuple[Tensor, tuple[int, int]], drawn: Sequence[Scene], tau: float, self_loop_weight: float) -> float:
    """Return CorLoc of the first cut."""
    features, grid = seen
    boxes = mask_cut(features, grid, 1, tau=tau, self_loop_weight=self_loop_weight).pixel_boxes(*drawn[0].numbers.shape)
    truths = [np.array([thing.box for thing in scene.things], dtype=float) for scene in drawn]
    return corloc([box[:1].numpy().astype(float) for box in boxes], truths)


def probe(backbone: Backbone, seed: int, test: tuple[list[Scene], Tensor]) -> float:
    """Return the mAP of one logistic regression for each class on frozen embeddings."""
    learned, told = scenes("train", FOR_PROBE, seed), []
    with torch.no_grad():
        for images in (learned[1], test[1]):
            told.append(torch.cat([backbone.eval()(some).embedding for some in images.split(50)]).numpy())
    known, asked = ([[name in scene.labels for name in CLASSES] for scene in drawn] for drawn in (learned[0], test[0]))
    columns = zip(np.array(known).T, np.array(asked).T, strict=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
    precisions = [
        average_precision_score(truth, model.fit(told[0], labels).decision_function(told[1]))
        for labels, truth in columns
        if truth.any()
    ]
    return 100 * float(np.mean(precisions))


def train_with_labels(backbone: Backbone, minutes: float, seed: int) -> Backbone:
    """Learn which thing a close-up shows, from views of close-ups like those of `cuter pretrain`."""
    drawn, images = scenes("unlabelled", CLOSE_UPS, seed)
    classes = torch.tensor([CLASSES.index(one.things[0].label) if one.things else -1 for one in drawn])
    images, classes = images[classes >= 0], classes[classes >= 0]
    generator = torch.Generator().manual_seed(seed)
    head = nn.Linear(backbone.embedding_dim, len(CLASSES))
    parameters = [*backbone.train().parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.04)
    began, steps, right = time.monotonic(), 0, 0.0
    while (progress := (time.monotonic() - began) / (60 * minutes)) < 1:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * rising_then_falling(progress, warmup=0.1)
        chosen = torch.randint(len(images), (64,), generator=generator)
        views = make_view(images[chosen].float() / 255, View(64, (0.4, 1.0)), generator)
        scores = head(backbone(views).embedding)
        optimizer.zero_grad()
        F.cross_entropy(scores, classes[chosen]).backward()
        nn.utils.clip_grad_norm_(parameters, 3.0)
        optimizer.step()
        steps += 1
        right += 0.02 * ((scores.argmax(dim=1) == classes[chosen]).float().mean().item() - right)
    print(f"with labels: {steps} steps of 64 views of close-ups, {100 * right:.0f} % right in the end", flush=True)
    return backbone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="toybox")
    parser.add_argument("--minutes", type=float, default=60.0, help="for the one with labels")
    parser.add_argument("--scenes", type=int, default=500, help="of the test split")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    trained = load_backbone(given.backbone)
    config = trained.encoder.config

    def same(seed: int) -> Backbone:
        return untrained_vit(
            config.image_size,
            config.patch_size,
            dim=config.hidden_size,
            depth=config.num_hidden_layers,
            heads=config.num_attention_heads,
            conv_stem=config.model_type == "vit_conv_stem",
            seed=seed,
        )

    backbones = {"untrained": same(given.seed), "multi-crop": trained}
    if given.minutes:
        backbones["with labels"] = train_with_labels(same(given.seed), given.minutes, given.seed)
    chosen_on, test = scenes("train", 200, given.seed), scenes("test", given.scenes, given.seed)
    kinds = ["tokens", "keys", f"values@{trained.blocks // 2}", "values@1"]
    table = Table("backbone", "features", "tau", "loops", "CorLoc train", "CorLoc test", "Fiedler value", "probe")
    for name, backbone in backbones.items():
        found_best = []
        for kind in kinds:
            seen = patches(backbone, chosen_on[1], kind)
            for tau, self_loop_weight in itertools.product(thresholds(seen[0]), LOOPS):
                found_best.append((score(seen, chosen_on[0], tau, self_loop_weight), kind, tau, self_loop_weight))
        best, kind, tau, self_loop_weight = max(found_best)
        found = patches(backbone, test[1], kind)
        fiedler = torch.cat([fiedler_values(gaussian_affinity(unit_features(some))) for some in found[0].split(50)])
        result = score(found, test[0], tau, self_loop_weight)
        figures = (f"{best:.3f}", f"{result:.3f}", f"{fiedler.mean() / found[0].shape[1]:.3f}")
        table.add_row(
            name, kind, f"{tau}", f"{self_loop_weight:g}", *figures, f"{probe(backbone, given.seed, test):.1f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
