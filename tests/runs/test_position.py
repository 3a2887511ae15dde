"""How far a run is, also while it writes."""

import json
from pathlib import Path

from cuter.runs.record import Position, read_position

STEP = {"step": 7, "task": 1, "loss": 0.4, "memory": 5}
TEST = {"step": 6, "test": {"task": 0, "scores": {"map": 61.5}}}


def test_nothing_yet_is_the_beginning(tmp_path: Path) -> None:
    assert read_position(tmp_path) == Position()


def test_steps_and_the_last_test_are_read_but_for_a_line_that_is_being_written(tmp_path: Path) -> None:
    lines = [json.dumps(TEST), json.dumps(STEP)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + '\n{"step": 8, "ta')
    assert read_position(tmp_path) == Position(steps=7, task=1, last_map=61.5)
    (tmp_path / "metrics.jsonl").write_text(lines[0] + "\n")
    assert read_position(tmp_path) == Position(steps=6, task=1, last_map=61.5)


def test_of_a_long_file_only_the_end_is_read(tmp_path: Path) -> None:
    earlier = "\n".join(json.dumps(STEP | {"step": number}) for number in range(20_000))
    (tmp_path / "metrics.jsonl").write_text(f"{earlier}\n{json.dumps(STEP | {'step': 20_001})}\n")
    assert read_position(tmp_path) == Position(steps=20_001, task=1)
