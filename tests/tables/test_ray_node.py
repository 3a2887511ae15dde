"""What a node does with a run, without Ray."""

import importlib.metadata
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cuter.errors import CuterError
from cuter.lock import claim
from cuter.tables.execute import ray_node
from cuter.tables.execute.ray_node import Errand, Look, Runner

# a run that says something, and ends as the file 'config.yaml' tells it to
PROGRAM = """
import os, sys
from pathlib import Path
print("threads", os.environ["OMP_NUM_THREADS"])
Path(sys.argv[-1]).mkdir()
exec(Path(sys.argv[3]).read_text())
"""


@pytest.fixture
def errand(tmp_path: Path) -> Errand:
    (tmp_path / "token").touch()
    (tmp_path / "program.py").write_text(PROGRAM)
    return Errand(
        folder=str(tmp_path / "run"),
        config="",
        program=(str(tmp_path / "program.py"),),
        threads="3",
        token=str(tmp_path / "token"),
        lock=str(tmp_path / "lock"),
        needs=(),
        version=importlib.metadata.version("cuter"),
    )


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    monkeypatch.setattr(ray_node, "LOOK", 0.01)
    runner = Runner()
    yield runner
    if hasattr(runner, "guard"):
        for pipe in (runner.guard.stdin, runner.guard.stdout):
            assert pipe is not None
            pipe.close()


def until(look: Callable[[], Look]) -> tuple[int, str]:
    """Look until the run has ended; return its code and all that it said."""
    said = b""
    while True:
        seen = look()
        said += seen.log
        if seen.code is not None:
            return seen.code, said.decode()


def test_a_run_waits_for_a_survivor_of_an_earlier_attempt(runner: Runner, errand: Errand, tmp_path: Path) -> None:
    assert runner.begin(errand).shared
    survivor = claim(tmp_path / "lock")
    assert survivor is not None
    assert runner.start() is None
    assert not (tmp_path / "run").exists()
    survivor.close()
    command = runner.start()
    assert command is not None
    assert command[-2:] == ["--out", str(tmp_path / "run")]
    assert claim(tmp_path / "lock") is None, "whoever comes next waits for this one"
    assert until(runner.look) == (0, "threads 3\n")


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", -signal.SIGKILL)])
def test_a_run_in_a_scratch_folder_tells_how_it_ended(runner: Runner, errand: Errand, ending: str, code: int) -> None:
    host = runner.begin(replace(errand, token="not there", config=ending))
    assert not host.shared
    assert runner.start() is not None
    assert until(runner.look)[0] == code
    assert runner.folder.is_dir()
    assert runner.folder != Path(errand.folder)


def test_a_long_log_comes_whole_and_before_the_code(runner: Runner, errand: Errand) -> None:
    runner.begin(replace(errand, config=f"print('x' * {3 * ray_node.LOG})"))
    runner.start()
    code, said = until(runner.look)
    assert code == 0
    assert said == f"threads 3\n{'x' * 3 * ray_node.LOG}\n"


def test_a_node_tells_what_it_lacks(runner: Runner, errand: Errand, tmp_path: Path) -> None:
    with pytest.raises(CuterError, match=r"has no /no/data, /no/weights: data and backbone must be at the same place"):
        runner.begin(replace(errand, needs=("/no/data", str(tmp_path), "/no/weights")))
    with pytest.raises(CuterError, match=r"has cuter .*, this command is 7\.0: install one on all nodes"):
        runner.begin(replace(errand, version="7.0"))
