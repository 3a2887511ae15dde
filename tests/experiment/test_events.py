from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cuter.experiment.events import Events
from cuter.learn.learner import Step


def test_a_resumed_curve_has_every_step_once(tmp_path: Path) -> None:
    with Events(tmp_path, next_step=1) as events:
        for number in range(1, 8):  # killed after 7, the checkpoint was at 5
            events.learned(Step(12, 6, loss=1.0), 0.5, number)
    with Events(tmp_path, next_step=6) as events:
        for number in range(6, 11):
            events.learned(Step(12, 6, loss=2.0), 0.5, number)
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    curve = [(point.step, point.value) for point in read.Scalars("train/loss")]
    assert curve == [(step, 1.0 if step <= 5 else 2.0) for step in range(1, 11)]
