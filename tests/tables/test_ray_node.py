"""What a node does with a run, without Ray."""

import importlib.metadata
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cuter.errors import CuterError
from cuter.lock import locked
from cuter.tables.execute import ray_node
from cuter.tables.execute.archive import pack, unpack
from cuter.tables.execute.ray_node import RemoteJob, Update, run_job

# a run that says something, and ends as the file 'config.yaml' tells it to
PROGRAM = """
import os, sys, time
from pathlib import Path
folder = Path(sys.argv[-1])
print("threads", os.environ["OMP_NUM_THREADS"], flush=True)
if "--out" in sys.argv:
    folder.mkdir()
    (folder / "config.yaml").write_text(Path(sys.argv[3]).read_text())
exec((folder / "config.yaml").read_text())
"""


@pytest.fixture(autouse=True)
def interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_node, "INTERVAL", 0.01)


@pytest.fixture
def job(tmp_path: Path) -> RemoteJob:
    (tmp_path / "token").touch()
    (tmp_path / "program.py").write_text(PROGRAM)
    return RemoteJob(
        folder=str(tmp_path / "run"),
        config="",
        program=(str(tmp_path / "program.py"),),
        threads="3",
        token=str(tmp_path / "token"),
        needs=(),
        version=importlib.metadata.version("cuter"),
    )


def execute(job: RemoteJob) -> tuple[int, list[Update]]:
    updates: list[Update] = []
    return run_job(job, updates.append), updates


def log_of(updates: list[Update]) -> str:
    return b"".join(update.log for update in updates).decode()


def test_a_run_in_a_shared_folder_waits_for_a_survivor_of_an_earlier_attempt(job: RemoteJob, tmp_path: Path) -> None:
    assert execute(job)[0] == 0
    (tmp_path / "run" / "config.yaml").write_text("print('goes on')")
    found: list[tuple[int, list[Update]]] = []
    thread = threading.Thread(target=lambda: found.append(execute(job)))
    with locked(tmp_path / "run"):
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join()
    ((code, updates),) = found
    assert (code, log_of(updates)) == (0, "threads 3\ngoes on\n")
    assert updates[0].start is not None
    assert updates[0].start.command[-2:] == ["--resume", str(tmp_path / "run")]
    assert not any(update.archive for update in updates)


@pytest.mark.parametrize(("ending", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", -signal.SIGKILL)])
def test_a_run_in_a_scratch_folder_comes_back_and_leaves_nothing(
    job: RemoteJob, ending: str, code: int, tmp_path: Path
) -> None:
    found, updates = execute(replace(job, token="not there", config=ending))
    assert found == code
    assert updates[0].start is not None
    assert not Path(updates[0].start.command[-1]).parent.exists()
    assert not (tmp_path / "run").exists()
    assert updates[-1].archive is not None
    unpack(updates[-1].archive, tmp_path / "there")
    assert (tmp_path / "there" / "config.yaml").read_text() == ending


CHECKPOINTS = """
(folder / "checkpoints/step-00000001").mkdir(parents=True)
(folder / "checkpoints/step-00000001/state").touch()
while not Path({released!r}).exists(): time.sleep(0.01)
"""


def test_each_new_checkpoint_comes_back_while_the_run_goes_on(job: RemoteJob, tmp_path: Path) -> None:
    released = tmp_path / "released"
    updates: list[Update] = []

    def receive(update: Update) -> None:
        updates.append(update)
        if update.archive is not None:
            released.touch()

    config = CHECKPOINTS.format(released=str(released))
    assert run_job(replace(job, token="not there", config=config), receive) == 0
    assert sum(update.archive is not None for update in updates) == 2, "once during the run, once at the end"


def test_a_run_that_was_begun_goes_on_from_its_archive(job: RemoteJob, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text("print('goes on')")
    code, updates = execute(replace(job, token="not there", archive=pack(tmp_path / "run")))
    assert (code, log_of(updates)) == (0, "threads 3\ngoes on\n")


def test_an_interrupted_task_lets_its_run_end(job: RemoteJob, tmp_path: Path) -> None:
    stops = "import signal\nsignal.signal(2, lambda *_: sys.exit(130))\nprint('ready', flush=True)\ntime.sleep(500)"
    updates: list[Update] = []

    def receive(update: Update) -> None:
        updates.append(update)
        if "ready" in log_of(updates) and len(interrupts) == 0:
            interrupts.append(True)
            raise KeyboardInterrupt

    interrupts: list[bool] = []
    assert run_job(replace(job, token="not there", config=stops), receive) == 130
    assert updates[-1].archive is not None


def test_a_run_does_not_outlive_a_task_that_fails(job: RemoteJob, tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    config = (
        f"while True:\n    Path({str(beat)!r}).write_text(str(time.time()))\n    print(time.sleep(0.01), flush=True)"
    )

    def fail(update: Update) -> None:
        if update.start is None and beat.exists():
            raise OSError("the queue is gone")

    with pytest.raises(OSError, match="the queue is gone"):
        run_job(replace(job, config=config), fail)
    last = beat.read_text()
    threading.Event().wait(0.1)
    assert beat.read_text() == last


def test_a_node_tells_what_it_lacks(job: RemoteJob, tmp_path: Path) -> None:
    with pytest.raises(CuterError, match=r"has no /no/data, /no/weights: data and backbone must be at the same place"):
        execute(replace(job, needs=("/no/data", str(tmp_path), "/no/weights")))
    with pytest.raises(CuterError, match=r"has cuter .*, this command is 7\.0: install one on all nodes"):
        execute(replace(job, version="7.0"))
