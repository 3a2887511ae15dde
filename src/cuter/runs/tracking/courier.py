"""Brings rows to a client from a thread of its own, so that a network that hangs does not hold up the run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cuter.runs.tracking.trackers import Client, Row
from cuter.storage import write_json

EVERY = 5.0  # seconds between two deliveries
MOMENT = 10.0  # seconds that a checkpoint waits for a delivery
PATIENCE = 60.0  # seconds that a run waits for its client to begin, and to end


class Courier:
    """Delivers every row once, also over several processes.

    `file` holds the id of the run at the service and the place of the last row that was delivered: a resumed run goes
    on there, and what it repeats is not delivered again.
    """

    def __init__(self, connect: Callable[[str | None], Client], file: Path):
        saved: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self.connect = connect
        self.file = file
        self.id: str | None = saved.get("id")
        self.delivered: tuple[int, ...] = tuple(saved.get("delivered", (0, 0)))
        self.written = self.wanted = self.delivered  # the last row that came, and the one that a checkpoint waits for
        self.rows: list[Row] = []
        self.is_connected = self.is_late = self.is_done = False
        self.complete: bool | None = None  # whether the run came to its end, when it is over
        self.failure: Exception | None = None
        self.change = threading.Condition()
        threading.Thread(target=self._work, name=f"courier {file.stem}", daemon=True).start()
        self._wait(lambda: self.is_connected, PATIENCE)

    def write(self, row: Row) -> None:
        """Take a row, unless it was delivered before the run was resumed."""
        with self.change:
            self._raise_failure()
            if row.place > self.delivered:
                self.rows.append(row)
                self.written = row.place

    def flush(self) -> None:
        """Wait a moment until all rows are delivered; a client that was late is not waited for until it is not."""
        with self.change:
            self.wanted = self.written
            self.change.notify_all()
        self.is_late = not self._wait(lambda: self.delivered >= self.wanted, 0 if self.is_late else MOMENT)

    def close(self, complete: bool) -> None:
        """Wait until all rows are delivered and the client has ended, but not for ever."""
        with self.change:
            self.complete = complete
            self.change.notify_all()
        if not self._wait(lambda: self.is_done, PATIENCE):
            raise TimeoutError(f"it has not taken everything within {PATIENCE:.0f} seconds")

    def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Tell whether a condition came true in time."""
        with self.change:
            came = self.change.wait_for(lambda: self.failure is not None or condition(), seconds)
            self._raise_failure()
            return came

    def _raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        """Deliver until the run is over; from here on all is done by the thread."""
        try:
            client = self.connect(self.id)
            self._note(client.id, self.delivered)
            while self.complete is None:
                self._deliver(client)
            self._deliver(client)
            client.close(self.complete)
            failure = None
        except Exception as error:
            failure = error
        with self.change:
            self.failure, self.is_done = failure, True
            self.change.notify_all()

    def _deliver(self, client: Client) -> None:
        with self.change:
            self.change.wait_for(lambda: self.wanted > self.delivered or self.complete is not None, EVERY)
            rows, self.rows = self.rows, []
        if rows:
            client.write(rows)
            self._note(client.id, rows[-1].place)

    def _note(self, run: str, place: tuple[int, ...]) -> None:
        write_json(self.file, {"id": run, "delivered": place})
        with self.change:
            self.delivered, self.is_connected = place, True
            self.change.notify_all()
