"""Tags as files: CSV for spreadsheets, JSON lines for programs, Parquet for data frames; row after row."""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError
from cuter.models.tagging import Asked
from cuter.models.work_file import Row, json_line

COLUMNS = ("path", "labels", "probabilities", "error")
BETWEEN = ";"
GROUP = 5000  # rows of a Parquet file that are in memory together


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns a table of tags has: always path, labels, probabilities and error; more as asked for."""

    asked: Asked
    classes: tuple[str, ...]

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the columns that do not depend on the classes."""
        return (*COLUMNS, "boxes") if self.asked.regions else COLUMNS

    @property
    def scores(self) -> dict[str, str]:
        """Name of the column for the scores of each class; one that is called as another column gets a longer name."""
        own = self.classes if self.asked.all_scores else ()
        return {name: f"score of {name}" if name in (*COLUMNS, "boxes") else name for name in own}


def write_tags(file: Path, rows: Iterable[Row], columns: Columns, kind: str) -> None:
    """Write rows in the format that a suffix stands for, one of `FORMATS`."""
    FORMATS[kind](file, rows, columns)


def require_format(out: Path) -> str:
    """Return the suffix of a file for tags, or say which are accepted, before there is anything to write."""
    kind = out.suffix.lower()
    if kind not in FORMATS:
        raise ConfigError(f"{out}: tags are written as {', '.join(FORMATS)}, not as {kind or 'a file without suffix'}")
    if kind == ".parquet":
        _pyarrow()
    return kind


def _write_csv(file: Path, rows: Iterable[Row], columns: Columns) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow([*columns.fixed, *columns.scores.values()])
        for row in rows:
            labels = row["labels"]
            cells = [row["path"], BETWEEN.join(labels), BETWEEN.join(map(str, labels.values())), row["error"] or ""]
            if columns.asked.regions:
                cells.append(json.dumps(row["boxes"], ensure_ascii=False))
            writer.writerow([*cells, *(row["scores"].get(name, "") for name in columns.scores)])


def _write_json_lines(file: Path, rows: Iterable[Row], columns: Columns) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        opened.writelines(map(json_line, rows))


def _write_parquet(file: Path, rows: Iterable[Row], columns: Columns) -> None:
    arrow = _pyarrow()
    from pyarrow import parquet

    text = arrow.string()
    fields = [("path", text), ("labels", arrow.list_(text)), ("probabilities", arrow.list_(arrow.float32()))]
    fields.append(("error", text))
    if columns.asked.regions:
        fields.append(("boxes", arrow.map_(text, arrow.list_(arrow.float32()))))
    fields += [(column, arrow.float32()) for column in columns.scores.values()]
    schema = arrow.schema(fields)
    with parquet.ParquetWriter(file, schema) as writer:
        for group in _groups(rows):
            named = [_parquet_row(row, columns) for row in group]
            writer.write_table(arrow.Table.from_pylist(named, schema=schema))


def _parquet_row(row: Row, columns: Columns) -> Row:
    cells = {"path": row["path"], "labels": list(row["labels"]), "error": row["error"]}
    cells["probabilities"] = list(row["labels"].values())
    if columns.asked.regions:
        cells["boxes"] = list(row["boxes"].items())
    return cells | {column: row["scores"].get(name) for name, column in columns.scores.items()}


def _groups(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    rest = iter(rows)
    while group := list(itertools.islice(rest, GROUP)):
        yield group


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ConfigError("Parquet needs pyarrow:  pip install 'cuter[parquet]'  (or choose .csv or .jsonl)") from None
    return pyarrow


FORMATS: dict[str, Callable[[Path, Iterable[Row], Columns], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}
