"""Reads back what trackers have, and keeps them away from the network."""

import json
import struct
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cuter.runs.tracking import trackers

Curves = dict[str, list[tuple[int, float]]]  # by name: step and value, in the order in which they came


def offline(folder: Path) -> dict[str, str]:
    """Return the variables with which the clients write to a folder and to nowhere else."""
    return {
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(folder),
        "WANDB_ERROR_REPORTING": "false",
        "MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(),
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }


def be_patient() -> None:
    """Wait for the clients on a machine that has other things to do."""
    trackers.PATIENCE = 500


def tensorboard_curves(run: Path) -> Curves:
    read = EventAccumulator(str(run / "tensorboard"))
    read.Reload()
    return {tag: [(point.step, point.value) for point in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def mlflow_curves(run: Path) -> Curves:
    from mlflow import MlflowClient

    client, number = MlflowClient(), json.loads((run / "mlflow.json").read_text())["id"]
    names = client.get_run(number).data.metrics
    return {name: [(point.step, point.value) for point in client.get_metric_history(number, name)] for name in names}


def wandb_curves(folder: Path) -> Curves:
    """Return the curves of all files of one run, one after the other, as 'wandb sync' would send them."""
    curves: Curves = {}
    for record in wandb_records(folder):
        if record.WhichOneof("record_type") == "history":
            row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for name in row.keys() - {"step"}:
                if not name.startswith("_"):
                    curves.setdefault(name, []).append((row["step"], row[name]))
    return curves


def wandb_records(folder: Path) -> list:
    from wandb.proto.wandb_internal_pb2 import Record

    return [
        Record.FromString(text)
        for file in sorted(folder.glob("wandb/offline-run-*/*.wandb"), key=lambda file: file.stat().st_mtime_ns)
        for text in _log_entries(file.read_bytes())
    ]


def _log_entries(data: bytes) -> list[bytes]:
    """Take apart W&B's file, a log in the format of LevelDB; its Python client has no reader."""
    block, header, place, entries, begun = 32768, 7, 7, [], b""
    while place + header <= len(data):
        if block - place % block < header:
            place += block - place % block
            continue
        length, kind = struct.unpack_from("<HB", data, place + 4)
        begun += data[place + header : place + header + length]
        place += header + length
        if kind in (1, 4):  # whole, or the last part
            entries.append(begun)
            begun = b""
    return entries
