"""The demonstration: a complete run on images and a small transformer that are made on the spot."""

from pathlib import Path
from typing import Any

from cuter.backbone import save_backbone, untrained_vit
from cuter.experiment.config import RunConfig
from cuter.experiment.directory import require_unused
from cuter.experiment.display import Display
from cuter.experiment.run import start
from cuter.stream.shapes import SIZE, render_shapes


def run_demo(out: Path, display: Display, seed: int = 0) -> dict[str, Any]:
    """Render a stream of coloured shapes, and let an untrained transformer learn it with reservoir replay."""
    require_unused(out)
    render_shapes(out / "data", train=1200, test=400, seed=seed)
    backbone = untrained_vit(image_size=SIZE, patch_size=8, dim=96, depth=3, heads=3, seed=seed)
    save_backbone(backbone, out / "backbone")
    config = RunConfig(
        dataset="folder",
        data_root=out / "data",
        backbone=str(out / "backbone"),
        tasks="4x2",
        batch_size=8,
        replay_size=8,
        memory_images=200,
        lr=1e-3,
        augment="flip",
        seed=seed,
    )
    return start(config, out / "run", display)
