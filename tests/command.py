"""The command line as a person uses it: in this process, or in one of its own that can be stopped and killed."""

import contextlib
import io
import logging
import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from cuter.cli import main

# One process imports the heavy libraries, and every process of a test is a fork of it.
HEAVY = "pytest kornia scipy.stats scipy.ndimage tensorboard transformers.models.vit.modeling_vit"
OURS = "cuter.cli cuter.runs.run cuter.learn.learner cuter.pretrain.pretraining"
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([*HEAVY.split(), *OURS.split()])


def cuter(*arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """Give a command here, which saves a second start of Python and torch; return its exit code and what it said."""
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd or "."):
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["cuter", *map(str, arguments)])
        patch.setattr(logging.getLogger("cuter"), "handlers", [])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = _code_of(main)
    return CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())


def cuter_in_a_process(told: Path, *arguments: object, first: Callable[[], Any] | None = None) -> ForkServerProcess:
    """Start a command in a process of its own, after something else to be done there; what it says goes to a file."""
    words = [str(argument) for argument in arguments]
    process = PROCESSES.Process(target=_command, args=(told, words, dict(os.environ), os.getcwd(), first))
    process.start()
    return process


def python_in_a_process(told: Path, script: str, *arguments: object) -> ForkServerProcess:
    """Start a script in a process of its own, which has the heavy libraries; what it says goes to a file."""
    words = [str(argument) for argument in arguments]
    process = PROCESSES.Process(target=_script, args=(told, script, words, dict(os.environ), os.getcwd()))
    process.start()
    return process


def _command(
    told: Path, arguments: list[str], environment: dict[str, str], folder: str, first: Callable[[], Any] | None
) -> None:
    _take_over(told, environment, folder)
    # As in a process that a shell started: workers of a loader are its own children, so that they notice its end.
    multiprocessing.set_start_method(None, force=True)
    sys.argv = ["cuter", *arguments]
    if first is not None:
        first()
    sys.exit(_code_of(main))


def _script(told: Path, script: str, arguments: list[str], environment: dict[str, str], folder: str) -> None:
    _take_over(told, environment, folder)
    sys.argv = ["-c", *arguments]
    sys.path.insert(0, folder)  # as for 'python -c'
    exec(compile(script, "script", "exec"), {"__name__": "__main__"})


def _take_over(told: Path, environment: dict[str, str], folder: str) -> None:
    """Be in the folder, with the environment and the output of the process that asked for this one."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    with told.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _code_of(command: Callable[[], None]) -> int:
    try:
        command()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
