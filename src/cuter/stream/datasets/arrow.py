"""Rows of Arrow and Parquet files, and the names that Hugging Face `datasets` has for the numbers in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cuter.errors import ConfigError, DataError

CHUNK = 64  # rows in memory at once, as they hold whole images


def schema_of(file: Path) -> Any:
    """Return the columns of a file, a `pyarrow.Schema`."""
    pyarrow = _pyarrow()
    try:
        if file.suffix == ".parquet":
            return pyarrow.parquet.read_schema(file)
        with pyarrow.memory_map(str(file)) as source, pyarrow.ipc.open_stream(source) as stream:
            return stream.schema
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error


def rows_of(file: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file, with these columns only."""
    pyarrow = _pyarrow()
    if missing := [name for name in columns if name not in schema_of(file).names]:
        raise DataError(f"{file}: has no column {missing[0]!r}, which other files of the data set have")
    try:
        if file.suffix == ".parquet":
            with pyarrow.parquet.ParquetFile(file) as table:
                for batch in table.iter_batches(CHUNK, columns=list(columns)):
                    yield from batch.to_pylist()
        else:
            with pyarrow.memory_map(str(file)) as source, pyarrow.ipc.open_stream(source) as stream:
                for batch in stream:
                    chosen = batch.select(list(columns))
                    for start in range(0, len(chosen), CHUNK):
                        yield from chosen.slice(start, CHUNK).to_pylist()
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{file}: cannot be read: {error}") from error


def class_names(schema: Any, column: str) -> list[str] | None:
    """Return the names that stand for the numbers of a column, as `datasets` notes them; None if it has none."""
    try:
        noted = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        feature = noted.get("info", {}).get("features", {}).get(column)
    except (ValueError, AttributeError):
        return None
    while isinstance(feature, list) or (isinstance(feature, Mapping) and "feature" in feature):
        feature = feature[0] if isinstance(feature, list) else feature["feature"]  # of the members of a list
    names = feature.get("names") if isinstance(feature, Mapping) else None
    return [str(name) for name in names] if isinstance(names, list) else None


def _pyarrow() -> Any:
    try:
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise ConfigError("data set 'huggingface' needs pyarrow:  pip install 'cuter[parquet]'") from None
    return pyarrow
