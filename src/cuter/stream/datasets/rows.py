"""Rows of your own annotation file: CSV with a header, or one JSON object a line."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from cuter.errors import DataError
from cuter.registry import did_you_mean
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.files import first_fault, numbered_lines
from cuter.stream.datasets.table import read_table
from cuter.stream.labels import clean_name, has_control_characters

NOT_ANNOTATED = "?"  # in place of labels: nobody has looked at the image yet, which is not the same as "shows nothing"


def _class_name(name: str) -> str:
    if has_control_characters(name):
        raise PydanticCustomError("control_characters", "A class name must not hold control characters")
    return clean_name(name)


Name = Annotated[str, Field(min_length=1)]
Class = Annotated[Name, AfterValidator(_class_name)]
Pixel = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class Row(BaseModel):
    """One image as an annotation file describes it; `labels` is None where nobody has looked at it yet."""

    model_config = ConfigDict(str_strip_whitespace=True)

    path: Name
    labels: list[Class] | None
    known: list[Class] | None = None
    boxes: list[tuple[Class, Pixel, Pixel, Pixel, Pixel]] | None = None
    split: Literal["train", "test"] | None = None


FIELDS = list(Row.model_fields)
NEEDED = ("path", "labels")


def read_rows(file: Path, faults: Faults) -> list[tuple[str, Row]]:
    """Return the rows of a `.csv` or `.jsonl` file, each with the words "file line number", but those with a fault."""
    rows = []
    if file.suffix == ".csv":
        table = read_table(file, FIELDS, NEEDED, faults)
        records = [(where, partial(_record, cells, table.separator, where)) for where, cells in table.rows]
    else:
        lines = [(f"{file} line {number}", line) for number, line in numbered_lines(file)]
        records = [(where, partial(_json_record, line, where)) for where, line in lines]
    for where, record in records:
        with faults.noted():
            rows.append((where, _row(record(), where)))
    return rows


def _row(record: dict[str, Any], where: str) -> Row:
    for field in record:
        # An unknown field is refused: a typo in "known" would silently turn unknown classes into absent ones.
        if field not in FIELDS:
            raise DataError(f"{where}: unknown field {field!r}.{did_you_mean(field, FIELDS)}")
    try:
        return Row.model_validate(record)
    except ValidationError as error:
        raise DataError(f"{where}: {first_fault(error)}") from error


def _json_record(line: str, where: str) -> dict[str, Any]:
    record = _json(line, where)
    if not isinstance(record, dict):
        raise DataError(f"{where}: must be a JSON object with the fields {', '.join(FIELDS)}, not {line[:60]!r}")
    return record


def _record(cells: dict[str, str], separator: str, where: str) -> dict[str, Any]:
    is_annotated = cells["labels"].strip() != NOT_ANNOTATED
    labels = _names(cells["labels"], separator, f"{where}: field 'labels'") if is_annotated else None
    record: dict[str, Any] = {"path": cells["path"], "labels": labels}
    # An empty cell is a missing field: everything is known, no boxes, no split.
    if known := _names(cells.get("known", ""), separator, f"{where}: field 'known'"):
        record["known"] = known
    if boxes := cells.get("boxes", "").strip():
        record["boxes"] = _json(boxes, f"{where}: field 'boxes'")
    if split := cells.get("split", "").strip():
        record["split"] = split
    return record


def _names(cell: str, separator: str, where: str) -> list[str]:
    """Return the names of a cell, and refuse a spelling that could make one class of several."""
    names = [name.strip() for name in cell.replace("|", ";").split(";") if name.strip()]
    if "," in cell and separator == ";":  # where ';' stands between cells, ',' may stand between names
        if len(names) > 1:
            raise DataError(f"{where} is {cell!r}: names are separated by '|' or by ',', not by both")
        names = [name.strip() for name in cell.split(",") if name.strip()]
    elif "," in cell and len(names) == 1:
        raise DataError(f"{where} is {cell!r}: names are separated by ';', not by ','")
    if NOT_ANNOTATED in names:
        raise DataError(f"{where} is {cell!r}: {NOT_ANNOTATED!r} says that nobody has looked yet, and stands alone")
    return names


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({error})") from error
