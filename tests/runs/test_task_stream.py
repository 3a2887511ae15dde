"""A loop of one's own comes to what `cuter run` comes to."""

from pathlib import Path

import pytest

from cuter import Learner, TaskStream, load_dataset
from cuter.runs.config import RunConfig
from cuter.runs.display import Display
from cuter.runs.run import start


def test_the_loop_in_python_is_the_run(config: RunConfig, tmp_path: Path) -> None:
    summary = start(config, tmp_path / "run", Display())
    learner = Learner.from_settings(config.learner, config.backbone, "cpu")
    stream = TaskStream(load_dataset("folder", config.data_root), "4x2", size=learner.backbone.image_size)
    assert len(stream) == 4
    for task, expected in zip(stream, summary["tasks"], strict=True):
        for batch in task:
            learner.observe(batch)
        assert task.evaluate(learner)["map"] == pytest.approx(expected["scores"]["map"])
        assert (task.name, list(task.seen)) == (expected["name"], expected["classes"])
    assert learner.steps == summary["steps"]
    assert len(learner.memory) == summary["memory_items"]


def test_a_task_that_no_image_has_is_an_error_before_the_first(shapes: Path) -> None:
    from cuter.errors import ConfigError

    with pytest.raises(ConfigError, match="5x4"):
        TaskStream(load_dataset("folder", shapes), "5x4")
