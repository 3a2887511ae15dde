"""Rows of your own annotation file: CSV with a header, or one JSON object a line."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from cuter.errors import DataError
from cuter.registry import did_you_mean
from cuter.stream.datasets.files import first_fault, numbered_lines, read_text
from cuter.stream.labels import clean_name

Name = Annotated[str, Field(min_length=1)]
Class = Annotated[Name, AfterValidator(clean_name)]
Pixel = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class Row(BaseModel):
    """One image as an annotation file describes it."""

    model_config = ConfigDict(str_strip_whitespace=True)

    path: Name
    labels: list[Class]
    known: list[Class] | None = None
    boxes: list[tuple[Class, Pixel, Pixel, Pixel, Pixel]] | None = None
    split: Literal["train", "test"] | None = None


FIELDS = list(Row.model_fields)


def read_rows(file: Path) -> Iterator[tuple[str, Row]]:
    """Yield the rows of a `.csv` or `.jsonl` file, each with the words "file line number"."""
    records = _csv_records(file) if file.suffix == ".csv" else _json_records(file)
    for where, record in records:
        for field in record:
            # An unknown field is refused: a typo in "known" would silently turn unknown classes into absent ones.
            if field not in FIELDS:
                raise DataError(f"{where}: unknown field {field!r}.{did_you_mean(field, FIELDS)}")
        try:
            yield where, Row.model_validate(record)
        except ValidationError as error:
            raise DataError(f"{where}: {first_fault(error)}") from error


def _json_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in numbered_lines(file):
        where = f"{file} line {number}"
        record = _json(line, where)
        if not isinstance(record, dict):
            raise DataError(f"{where}: must be a JSON object with the fields {', '.join(FIELDS)}, not {line[:60]!r}")
        yield where, record


def _csv_records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    # strict: otherwise a quote that is never closed swallows the rest of the file without a word
    reader = csv.reader(io.StringIO(read_text(file)), strict=True)
    header: list[str] | None = None
    end = 0
    try:
        for cells in reader:
            where, end = f"{file} line {end + 1}", reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = _header(cells, where)
                continue
            if len(cells) != len(header):
                raise DataError(f"{where}: has {len(cells)} cells, but the header names {len(header)} fields")
            yield where, _record(dict(zip(header, cells, strict=True)), where)
    except csv.Error as error:
        raise DataError(f"{file} line {end + 1}: not CSV ({error})") from error


def _header(cells: list[str], where: str) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    for field in header:
        if field not in FIELDS:
            raise DataError(
                f"{where}: the first line must name the fields, with commas between them, such as path,labels; "
                f"{field!r} is none.{did_you_mean(field, FIELDS)}"
            )
        if header.count(field) > 1:
            raise DataError(f"{where}: the header names the field {field!r} twice")
    for field in ("path", "labels"):
        if field not in header:
            raise DataError(f"{where}: the header must name the field {field!r}, it has {', '.join(header)}")
    return header


def _record(cells: dict[str, str], where: str) -> dict[str, Any]:
    record: dict[str, Any] = {"path": cells["path"], "labels": _names(cells["labels"])}
    if "," in cells["labels"] and len(record["labels"]) == 1:  # a list in the wrong spelling would become one class
        raise DataError(f"{where}: field 'labels' is {cells['labels']!r}: names are separated by ';', not by ','")
    # An empty cell is a missing field: everything is known, no boxes, no split.
    if known := _names(cells.get("known", "")):
        record["known"] = known
    if boxes := cells.get("boxes", "").strip():
        record["boxes"] = _json(boxes, f"{where}: field 'boxes'")
    if split := cells.get("split", "").strip():
        record["split"] = split
    return record


def _names(cell: str) -> list[str]:
    return [name.strip() for name in cell.replace("|", ";").split(";") if name.strip()]


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({error})") from error
