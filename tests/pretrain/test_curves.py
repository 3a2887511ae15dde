import json
from pathlib import Path

import pytest
from PIL import Image

from cuter.errors import ConfigError
from cuter.pretrain.curves import _binned, draw_curves


def test_a_picture_of_what_was_noted(tmp_path: Path) -> None:
    score = {"fiedler": 0.3, "corloc": 0.4, "ap50": 0.1, "knn_map": 20.0}
    step = {"loss": 3.0, "entropy": 2.0, "diversity": 3.0, "spread": 0.5}
    widths = {}
    for name, scored in (("labelled", score), ("not", {"fiedler": 0.3})):
        (tmp_path / name).mkdir()
        lines = [{"step": 0, "score": scored}, {"step": 1, **step}, {"step": 1, "score": scored}]
        (tmp_path / name / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
        draw_curves(tmp_path / name, prototypes=64)
        widths[name] = Image.open(tmp_path / name / "curves.png").width
    assert widths["labelled"] > widths["not"], "one panel more"


def test_a_point_of_a_curve_is_the_mean_of_some_steps() -> None:
    lines = [{"step": step, "loss": float(step % 2)} for step in range(1, 401)]
    _, steps, values = _binned(lines, "loss", "red")
    assert (len(steps), steps[0], steps[-1]) == (100, 2.5, 398.5)
    assert list(values) == pytest.approx([0.5] * 100)


def test_a_score_without_a_fiedler_value_costs_its_panel_only(tmp_path: Path) -> None:
    lines = [{"step": 0, "score": {}}, {"step": 1, "loss": 3.0, "entropy": 2.0, "diversity": 3.0, "spread": 0.5}]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    draw_curves(tmp_path, prototypes=64)
    assert Image.open(tmp_path / "curves.png").width == 2 * 3.6 * 200


def test_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no metrics\.jsonl"):
        draw_curves(tmp_path, 64)
