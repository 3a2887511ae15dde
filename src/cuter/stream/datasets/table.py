"""Cells of a CSV file, whatever stands between them: a comma, a semicolon, a tab or a bar."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuter.errors import DataError
from cuter.registry import did_you_mean
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.files import read_text

SEPARATORS = (",", ";", "\t", "|")  # that of a header which fits to none is the first


@dataclass(frozen=True)
class Table:
    """The rows of a CSV file, each with the words "file line number", and what stands between its cells."""

    header: list[str]
    separator: str
    rows: list[tuple[str, dict[str, str]]]


def read_table(file: Path, fields: Sequence[str], needed: Sequence[str], faults: Faults) -> Table:
    """Read a CSV file whose first line names some of the fields, and all of those that are needed.

    The header tells what stands between cells: of the four signs only one can leave names of fields. A row that does
    not fit to the header is one of the faults.
    """
    text = read_text(file)
    separator = _separator(text, fields)
    # strict: otherwise a quote that is never closed swallows the rest of the file without a word
    reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
    header: list[str] = []
    rows: list[tuple[str, dict[str, str]]] = []
    end = 0
    try:
        for cells in reader:
            where, end = f"{file} line {end + 1}", reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _header(cells, fields, needed, where)
                continue
            with faults.noted():
                if len(cells) != len(header):
                    raise DataError(f"{where}: has {len(cells)} cells, but the header names {len(header)} fields")
                rows.append((where, dict(zip(header, cells, strict=True))))
    except csv.Error as error:  # where the next row would begin is not known
        faults.found.append(f"{file} line {end + 1}: not CSV ({error})")
    return Table(header, separator, rows)


def _separator(text: str, fields: Sequence[str]) -> str:
    first = next((line for line in text.split("\n") if line.strip()), "")
    return max(SEPARATORS, key=lambda sign: sum(cell in fields for cell in _names(first.split(sign))))


def _names(cells: Sequence[str]) -> list[str]:
    return [cell.strip().strip('"').strip().lower() for cell in cells]


def _header(cells: Sequence[str], fields: Sequence[str], needed: Sequence[str], where: str) -> list[str]:
    header = _names(cells)
    for field in header:
        if field not in fields:
            raise DataError(
                f"{where}: the first line must name the fields, with commas between them, such as path,labels; "
                f"{field!r} is none.{did_you_mean(field, list(fields))}"
            )
        if header.count(field) > 1:
            raise DataError(f"{where}: the header names the field {field!r} twice")
    for field in needed:
        if field not in header:
            raise DataError(f"{where}: the header must name the field {field!r}, it has {', '.join(header)}")
    return header
