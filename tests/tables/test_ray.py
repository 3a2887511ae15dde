"""A table on a cluster of two nodes with one CPU each: the same as here, whatever is killed."""

import io
import json
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from rich.console import Console

pytest.importorskip("ray")

from ray.cluster_utils import Cluster

from cuter.errors import ConfigError
from cuter.lock import locked
from cuter.runs.config import load_config
from cuter.runs.run import start
from cuter.show.run_display import RunDisplay
from cuter.tables.execute import execute as carry_out
from cuter.tables.execute import launching, ray_cluster
from cuter.tables.execute.ray_cluster import Node, RayCluster, room, share
from cuter.tables.jobs import Job
from waiting import wait_for

from .conftest import table_of

Paper = Callable[..., Result]
SetEnvironment = Callable[..., None]

STAND_IN = Path(__file__).with_name("stand_in.py")
THREE = ["--seeds", 1, "--only", "RS", "--only", "GSS", "--only", "CUTER"]
TWO = THREE[:-2]


SMALL = {"num_cpus": 1, "object_store_memory": 100 << 20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes; the head carries out runs, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")  # or other tests on these cores would keep its runs waiting
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        head = SMALL | {"include_dashboard": False, "ray_client_server_port": port}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.add_node(**SMALL)
        yield cluster
        cluster.shutdown()


@pytest.fixture(scope="module")
def address(cluster: Cluster) -> str:
    """Where the cluster is."""
    return str(cluster.address)


@pytest.fixture(scope="module")
def client_address(cluster: Cluster) -> str:
    """Where the cluster is for a machine that is not part of it."""
    return f"ray://127.0.0.1:{cluster.head_node._ray_params.ray_client_server_port}"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log"
    file.touch()
    return file


@pytest.fixture
def on_the_nodes(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> SetEnvironment:
    """Set what the stand-in for runs looks at: nodes do not have the environment of the command."""

    def set_environment(and_then: str = "", **variables: str) -> None:
        program = tmp_path / "program.py"
        program.write_text(
            f"import os, runpy, sys\nos.environ.update({variables | {'STAND_IN_LOG': str(log)}!r})\n{and_then}\n"
            f"runpy.run_path({str(STAND_IN)!r}, run_name='__main__')\n"
        )
        monkeypatch.setattr(launching, "PROGRAM", (str(program),))

    return set_environment


def not_shared(_: RayCluster, job: Job) -> Path:
    """Name a token that no node finds, as if it did not see the folder of the command."""
    return job.folder / "not there"


def events(log: Path) -> list[list[str]]:
    return [line.split() for line in log.read_text().splitlines()]


def meanwhile(act: Callable[[], None]) -> threading.Thread:
    """Do something during a command, which itself needs the main thread for its signals."""
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def kill_its_worker(run: Path) -> None:
    """Kill the process of Ray's that carries out a run."""
    owner = (run.parents[1] / "jobs" / f"{run.name}.lock").read_text()
    os.kill(int(owner.split()[1]), signal.SIGKILL)


def is_free(run: Path) -> bool:
    try:
        with locked(run):
            return True
    except ConfigError:
        return False


def begun(out: Path) -> list[Path]:
    return [file.parent for file in out.glob("runs/*/metrics.jsonl") if file.read_text()]


def test_a_worker_killed_in_mid_run_changes_nothing_in_the_table(
    paper: Paper, address: str, on_the_nodes: SetEnvironment, out: Path, log: Path
) -> None:
    assert paper("voc", "--jobs", 2, *THREE).exit_code == 0
    here = out.rename(out.with_name("here"))
    on_the_nodes(STAND_IN_SECONDS="0.2")
    killed = []

    def kill() -> None:
        killed.append(wait_for(lambda: begun(out))[0])
        kill_its_worker(killed[0])

    thread = meanwhile(kill)
    done = paper("voc", "--ray", address, "--json", *THREE)
    thread.join()
    assert done.exit_code == 0, done.output
    assert table_of(out) == table_of(here)
    rows = json.loads(done.stdout)["rows"]  # whatever Ray tells about what was killed is not there
    launches = {Path(run["folder"]): run["launches"] for row in rows.values() for run in row["runs"].values()}
    (twice,) = [folder for folder, lines in launches.items() if len(lines) == 2]
    assert [twice] == killed
    assert all(line.endswith(f" on {socket.gethostname()}") for lines in launches.values() for line in lines)
    begins, ends = ([name for what, name in events(log) if what == which] for which in ("begin", "end"))
    assert sorted(begins) == sorted([*(folder.name for folder in launches), twice.name])
    assert sorted(ends) == sorted(folder.name for folder in launches)
    assert "is started again: lost by" in done.stderr
    assert f"run --resume {twice}" in (out / "jobs" / f"{twice.name}.log").read_text()
    assert not list((out / "jobs").glob(".*"))


def test_a_node_killed_in_mid_run_changes_nothing_in_the_table(
    paper: Paper, cluster: Cluster, on_the_nodes: SetEnvironment, out: Path, log: Path
) -> None:
    assert paper("voc", "--jobs", 2, *THREE).exit_code == 0
    here, released = out.rename(out.with_name("here")), out.with_name("released")
    on_the_nodes(STAND_IN_WAITS_FOR=str(released))
    node = cluster.add_node(**SMALL)

    def kill() -> None:
        wait_for(lambda: len(events(log)) == 3)  # a run on each node
        cluster.remove_node(node, allow_graceful=False)
        wait_for(lambda: any(map(is_free, (out / "runs").iterdir())))  # its run has ended with it
        released.touch()

    thread = meanwhile(kill)
    done = paper("voc", "--ray", cluster.address, *THREE)
    thread.join()
    assert done.exit_code == 0, done.output
    assert done.output.count("is started again: lost by") == 1
    assert table_of(out) == table_of(here)
    begins, ends = ([name for what, name in events(log) if what == which] for which in ("begin", "end"))
    assert (len(begins), len(ends), len(set(ends))) == (4, 3, 3)


def test_folders_come_back_from_nodes_that_do_not_see_ours_and_go_there_again(
    paper: Paper, address: str, on_the_nodes: SetEnvironment, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paper("voc", "--jobs", 2, *TWO).exit_code == 0
    here, log = out.rename(out.with_name("here")), out.with_name("log")
    monkeypatch.setattr(RayCluster, "_token", not_shared)
    monkeypatch.setattr("sys.argv", ["cuter", "paper", "voc", "--ray", "auto"])
    on_the_nodes(STAND_IN_WAITS_FOR="nothing that ever comes")

    def press_ctrl_c() -> None:
        wait_for(lambda: len(events(log)) == 2)
        os.kill(os.getpid(), signal.SIGINT)

    thread = meanwhile(press_ctrl_c)
    stopped = paper("voc", "--ray", address, *TWO)
    thread.join()
    assert stopped.exit_code == 130, stopped.output
    assert "Stopped with 0 of 2 runs finished. Go on with:  cuter paper voc --ray auto" in stopped.stderr
    assert sorted(what for what, _ in events(log)) == ["begin", "begin", "stop", "stop"]
    assert len(begun(out)) == 2, "what they had learned is here"

    on_the_nodes()
    done = paper("voc", "--ray", address, *TWO)
    assert done.exit_code == 0, done.output
    assert table_of(out) == table_of(here)
    for run in begun(out):
        told = (out / "jobs" / f"{run.name}.log").read_text()
        first, second = re.findall(r"run (--\w+) .*?(/\S*)$", told, re.MULTILINE)
        assert (first[0], second[0]) == ("--config", "--resume")
        assert not {first[1], second[1]} & {str(run)}
        wait_for(lambda paths=(first[1], second[1]): not any(Path(path).parent.exists() for path in paths))
        assert (run / "metrics.jsonl").read_bytes() == (here / "runs" / run.name / "metrics.jsonl").read_bytes()


def test_what_goes_wrong_on_a_node_is_told_and_stops_no_other_run(
    paper: Paper, client_address: str, on_the_nodes: SetEnvironment, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = "if 'cuter-' in sys.argv[-1].split('/')[-1]: os.kill(os.getpid(), 9)"
    on_the_nodes(dies, STAND_IN_FAILS="rs")
    monkeypatch.setattr(ray_cluster, "_needs", lambda config: ("/no/VOCdevkit",) if config.method == "gss" else ())
    monkeypatch.setattr(carry_out, "RETRIES", 1)
    done = paper("voc", "--ray", client_address, "--only", "joint", *THREE)
    assert done.exit_code == 1
    assert "failed: RS, seed 0, code 3" in done.output
    assert "    error: no more room for images" in done.output
    assert "failed: GSS, seed 0, code 2" in done.output
    assert "has no /no/VOCdevkit: data and backbone must be at the same place on every node" in done.output
    assert "failed: CUTER, seed 0, code -9" in done.output
    assert "    --- lost 2 times: given up" in done.output
    assert "joint, seed 0 finished" in done.output


PAUSED = """
import time
from pathlib import Path

from cuter.cli import main
from cuter.learn.learner import Learner


def observe(self, batch, learn=Learner.observe):
    while self.steps == 4 and not Path({released!r}).exists():
        time.sleep(0.01)
    return learn(self, batch)


Learner.observe = observe
main()
"""


def test_real_runs_whose_workers_are_killed_have_the_figures_of_runs_that_nobody_disturbed(
    paper_with_real_runs: Paper, address: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["voc", "--seeds", 2, "--only", "RS", "--set", "probe_images=0", "--set", "checkpoint_steps=2"]
    shared = RayCluster._token  # for one run, but not for the other
    monkeypatch.setattr(RayCluster, "_token", lambda self, job: (not_shared if job.seed else shared)(self, job))
    program, released = tmp_path / "program.py", tmp_path / "released"
    program.write_text(PAUSED.format(released=str(released)))
    monkeypatch.setattr(launching, "PROGRAM", (str(program),))

    def saved() -> list[Path]:
        return [*{file.parents[2] for file in out.glob("runs/[!.]*/checkpoints/step-*/manifest.json")}]

    def kill() -> None:
        try:
            for run in wait_for(lambda: len(runs := saved()) == 2 and runs):
                kill_its_worker(run)
        finally:
            released.touch()

    thread = meanwhile(kill)
    done = paper_with_real_runs(*arguments, "--ray", address)
    thread.join()
    assert done.exit_code == 0, done.output
    assert done.output.count("is started again") == 2

    there = out.rename(out.with_name("there"))
    for run in (there / "runs").iterdir():
        starts = re.findall(r"INFO at step (\d+)", (run / "run.log").read_text())
        assert starts[0] == "0"
        assert int(starts[1]) in (2, 3, 4), "it went on from a checkpoint"
        alone = out / "runs" / run.name
        start(load_config(run / "config.yaml", {}), alone, RunDisplay(Console(file=io.StringIO())))
        assert (alone / "metrics.jsonl").read_bytes() == (run / "metrics.jsonl").read_bytes()
    assert paper_with_real_runs(*arguments, "--jobs", 0).exit_code == 0
    assert table_of(out) == table_of(there)


def test_without_ray_it_tells_what_to_install(paper: Paper, monkeypatch: pytest.MonkeyPatch, out: Path) -> None:
    monkeypatch.delitem(sys.modules, "cuter.tables.execute.ray_cluster")
    monkeypatch.setitem(sys.modules, "ray", None)
    done = paper("voc", "--ray", "auto", *TWO)
    assert "pip install 'cuter[ray]'" in str(done.exception)
    assert not out.exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"])
def test_an_address_without_a_cluster_is_told(paper: Paper, address: str, out: Path) -> None:
    done = paper("voc", "--ray", address, *TWO)
    assert re.match(f"no Ray cluster (answers|can be used) at '{address}'", str(done.exception))
    assert not out.exists()


def test_runs_share_the_cpus_of_nodes_that_have_room_for_them() -> None:
    nodes = [Node(8, 2), Node(4, 0), Node(0, 0)]
    assert (room(nodes, 1, gpus=0), room(nodes, 3, gpus=0), room(nodes, 1, gpus=1)) == (12, 3, 2)
    assert [share(nodes, at_once, gpus=0) for at_once in (1, 2, 3, 4, 6, 12, 99)] == [8, 4, 4, 2, 2, 1, 1]
    assert [share(nodes, at_once, gpus=1) for at_once in (1, 2, 3)] == [8, 4, 1]


def test_a_run_has_a_gpu_where_there_are_some_and_it_wants_one() -> None:
    nodes = [Node(8, 2), Node(4, 0)]
    assert [RayCluster(nodes, device).gpus for device in ("auto", "cuda", "cpu")] == [1, 1, 0]
    assert [RayCluster(nodes, device).room for device in ("auto", "cpu")] == [2, 12]
    assert RayCluster(nodes[1:], "auto").gpus == 0
    with pytest.raises(ConfigError, match="the cluster has no GPU"):
        RayCluster(nodes[1:], "cuda")
