"""Writes an evaluation into a folder: all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError, CuterError
from cuter.learn.learner import Learner
from cuter.models.evaluation import Evaluation
from cuter.show.cutting import short_name
from cuter.show.evaluation_page import evaluation_page
from cuter.show.evaluation_tables import evaluation_csv, evaluation_markdown
from cuter.show.suite_folder import made_by, stamp
from cuter.storage import replacing, write_json, write_text

FILES = ("evaluation.json", "evaluation.html", "table.csv", "table.md")


def describe(model: Path, learner: Learner, data: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return how an evaluation is made.

    Args:
        model: Folder of the learner.
        learner: The learner.
        data: What it is evaluated on, and how: dataset, split, limit, regions, thresholds.
        command: What was typed.
    """
    settings = learner.settings
    facts = {"model": str(model), "method": settings.method, "calibrated_on": learner.calibration.images, **data}
    facts["regions"] = data["regions"] or settings.predictor.kind == "regions"
    return {
        "title": f"{model.resolve().name} on {data['dataset']} {data['split']}",
        "shared": [f"method {settings.method}", f"backbone {short_name(learner.backbone.name)}"],
        "facts": facts,
        **stamp(command),
    }


def require_replaceable(folder: Path) -> None:
    """Refuse a folder that holds something else than an earlier evaluation."""
    if folder.exists() and (not folder.is_dir() or any(entry.name not in FILES for entry in folder.iterdir())):
        raise ConfigError(f"{folder} holds something else than an evaluation: choose another --out")


def write_evaluation(folder: Path, found: Evaluation, record: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    """Write evaluation.json, table.md, table.csv and evaluation.html; an earlier evaluation is replaced.

    Args:
        folder: Where to.
        found: What was found.
        record: How it was made, as `describe` returns it.
        paths: Files of the images by id.

    Raises:
        ConfigError: The folder holds something else.
        CuterError: It cannot be written.
    """
    require_replaceable(folder)
    page = evaluation_page(found, record, paths)
    try:
        with replacing(folder.absolute()) as new:
            write_json(new / "evaluation.json", evaluation_record(found, record))
            write_text(new / "evaluation.html", page)
            write_text(new / "table.csv", evaluation_csv(found))
            write_text(new / "table.md", f"{evaluation_markdown(found, record['title'])}\n{made_by(dict(record))}")
    except OSError as error:
        raise CuterError(f"{folder} cannot be written: {error}") from None


def evaluation_record(found: Evaluation, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what evaluation.json holds, and `cuter evaluate --json` prints."""
    return {**record["facts"], **{name: record[name] for name in ("command", "date", "version")}, **found.as_dict()}
