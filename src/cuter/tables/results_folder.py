"""What finished runs came to, as small files that can be committed: any clone then counts these runs as finished."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cuter.errors import ConfigError, CuterError
from cuter.runs.config import flat_settings, restored_config
from cuter.storage import write_text
from cuter.tables.jobs import Job, KeptRun, digest, portable, portable_digest

TIMES = {"train_seconds", "test_seconds", "train_images_per_second"}  # of a summary: another time they are others
LEFT_OUT = {"config", "tasks", "skipped"}  # of a summary: they are in the file elsewhere, or name paths


@dataclass(frozen=True)
class ResultsFolder:
    """The files of a folder by the digest of what decides their results, and why some can't be read as runs."""

    folder: Path
    files: dict[str, tuple[Path, KeptRun]]
    unread: tuple[str, ...]

    def only(self, field: str) -> str | None:
        """Return the value of a setting that all files have, None if they have several or none."""
        values = {flat_settings(run.config).get(field) for _, run in self.files.values()}
        return values.pop() if len(values) == 1 else None

    def attach(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the same jobs; those that have a file here are finished by it."""
        names: dict[str, Job] = {}
        found = []
        for job in jobs:
            checksum = portable_digest(job.config)
            other = names.setdefault(checksum, job)
            if digest(other.config) != digest(job.config):
                raise ConfigError(
                    f"{other.name} and {job.name} differ only in the folder of their data or backbone, not in its last "
                    "name, by which --results knows them: rename one"
                )
            found.append(replace(job, kept=self.files[checksum][1] if checksum in self.files else None))
        return found

    def lines(self, jobs: Sequence[Job]) -> list[str]:
        """Return lines that say what of this folder is part of a table."""
        wanted = {portable_digest(job.config) for job in jobs}
        count = len(wanted & self.files.keys())
        others = len(self.files) - count
        text = f"{count} of {len(wanted)} runs are finished by the files in {self.folder}"
        return [*self.unread, text + (f"; {others} files there are of other runs" if others else "")]


def read_results_folder(folder: Path) -> ResultsFolder:
    """Read all files of runs in a folder; none is there before the first run is finished.

    One that is damaged or of something else is an error: it would be in the way of the run that it is named for. One
    with settings that this version does not have is left out, and `unread` names it.
    """
    files: dict[str, tuple[Path, KeptRun]] = {}
    unread = []
    for path in sorted(folder.glob("*.json")):
        run = _read(path)
        try:
            checksum = portable_digest(restored_config(run.config))
        except CuterError as error:
            unread.append(f"{path} is left out, this version can't have made it: {error}")
            continue
        if checksum in files:
            raise ConfigError(f"{files[checksum][0]} and {path} are the same run: remove one of them")
        files[checksum] = (path, run)
    return ResultsFolder(folder, files, tuple(unread))


def keep_result(job: Job, folder: Path) -> None:
    """Write the file of a finished run; one that is there already stays, and must have the same figures."""
    if job.summary_here is None:
        return  # it is finished by its file alone
    job = replace(job, kept=None)
    checksum = portable_digest(job.config)
    run = _describe(job)
    known = read_results_folder(folder).files.get(checksum)
    if known is None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{job.config.method}-seed{job.seed}-{checksum[:12]}.json"
        write_text(path, json.dumps(run.model_dump(), indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    elif _figures(known[1]) != _figures(run):
        raise ConfigError(
            f"{known[0]} has other figures of {job.name} than {job.folder}: remove the file to write it anew, "
            "or the folder to count the file"
        )


def _describe(job: Job) -> KeptRun:
    record = job.record
    summary = record.finished or {}
    return KeptRun(
        format=1,
        config=portable(job.config),
        environment=_without_folders(record.environment, str(job.config.backbone)),
        launches=[launch.partition(" on ")[0] for launch in job.launches],  # not which node of a cluster
        summary={field: value for field, value in summary.items() if field not in LEFT_OUT},
        tests=record.tests,
    )


def _without_folders(environment: dict[str, Any], source: str) -> dict[str, Any] | None:
    """Return the environment of a run; what the backbone was loaded from goes by its last name, as in the config."""
    if "backbone" not in environment:
        return environment or None
    name = Path(source).name
    text = environment["backbone"].replace(source, name)
    return environment | {"backbone": re.sub(rf"from \S*/{re.escape(name)}\b", f"from {name}", text)}  # of the package


def _figures(run: KeptRun) -> tuple[Any, ...]:
    return {name: value for name, value in run.summary.items() if name not in TIMES}, run.tests


def _read(path: Path) -> KeptRun:
    try:
        return KeptRun.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (OSError, ValueError) as error:
        why = str(error)
    raise ConfigError(
        f"{path} is not the result of a run, or is damaged ({why}): restore it, or remove it to carry out its run again"
    )
