"""One file from the web: continued where it stopped, tried again, and checked before it gets its name."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from cuter.errors import DataError

Progress = Callable[[str, int, int], None]  # (what goes on, bytes done, bytes in all)
Say = Callable[[str], None]

PAUSES = (1, 4, 15, 30)  # seconds before each new try; the first again whenever bytes have arrived in between
PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers of a server that may answer otherwise in a moment
TIMEOUT = 30  # seconds without a byte
CHUNK = 1 << 20


@dataclass(frozen=True)
class WebFile:
    """A file that is known: where it is, its length in bytes, its checksum."""

    url: str
    size: int
    md5: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]


class BrokenError(Exception):
    """The connection broke, or could not be made: worth another try."""


def fetch(file: WebFile, folder: Path, progress: Progress, say: Say) -> Path:
    """Return the file in `folder`, downloading what is missing of it.

    Until its checksum was found right it is called `NAME.part`, and a later call goes on with that. A file NAME that is
    there already is checked, too. What the disk refuses is an `OSError`, and leaves the part.
    """
    path, part = folder / file.name, part_of(file, folder)
    if path.exists():
        if (found := _checksum(path, file.name, progress)) != file.md5:
            raise DataError(
                f"{path}: not the file that is at {file.url}: its MD5 must be {file.md5}, not {found}. "
                "Move it away, and the same command fetches it"
            )
        return path
    _download(file, part, progress, say)
    if (found := _checksum(part, file.name, progress)) != file.md5:
        part.unlink()
        raise DataError(
            f"{file.name} from {file.url} has a wrong checksum: its MD5 must be {file.md5}, not {found}. "
            "What came is deleted; the same command fetches it again"
        )
    part.rename(path)
    return path


def part_of(file: WebFile, folder: Path) -> Path:
    """Return where a file is kept until it is whole."""
    return folder / f"{file.name}.part"


def _download(file: WebFile, part: Path, progress: Progress, say: Say) -> None:
    """Go on with a part until it is as long as the file."""
    if _length(part) > file.size:
        say(f"{part} is longer than the file, which has {file.size} bytes. It starts again")
        part.unlink()
    most, failures = _length(part), 0
    while _length(part) < file.size:
        try:
            _receive(file, part, progress, say)
        except BrokenError as broken:
            if _length(part) > most:
                most, failures = _length(part), 0
            if failures == len(PAUSES):
                raise DataError(
                    f"{file.url} cannot be fetched: {broken}. {_length(part)} of {file.size} bytes are kept; "
                    "the same command goes on with them"
                ) from None
            say(f"{file.name}: {broken}. Tries again in {PAUSES[failures]} s")
            time.sleep(PAUSES[failures])
            failures += 1


def _receive(file: WebFile, part: Path, progress: Progress, say: Say) -> None:
    """Append what one connection brings."""
    response, done = _ask(file, _length(part), say)
    with response, part.open("ab" if done else "wb") as out:
        while done < file.size:
            try:
                chunk = response.read1(min(CHUNK, file.size - done))  # what has arrived, so that a break loses nothing
            except (OSError, HTTPException) as error:
                raise BrokenError(f"the connection broke after {done} of {file.size} bytes ({error})") from None
            if not chunk:
                raise BrokenError(f"the connection ended after {done} of {file.size} bytes")
            out.write(chunk)
            done += len(chunk)
            progress(f"fetching {file.name}", done, file.size)


def _ask(file: WebFile, start: int, say: Say) -> tuple[HTTPResponse, int]:
    """Ask for the file from byte `start` on; return the answer and the byte with which it begins: `start` or 0."""
    refused = None  # why the server does not go on
    try:
        response: HTTPResponse = urlopen(
            Request(file.url, headers={"Range": f"bytes={start}-"} if start else {}), timeout=TIMEOUT
        )
        offered = response.headers.get("Content-Range")
        if response.status == 206 and offered != f"bytes {start}-{file.size - 1}/{file.size}":
            response.close()
            refused = f"asked for byte {start} of {file.size}, the server answers with {offered!r}"
    except HTTPError as error:
        problem = f"the server answers {error.code} {error.reason}"
        if error.code == 416 and start:
            refused = f"the server has no byte {start}"
        elif error.code in PASSING:
            raise BrokenError(problem) from None
        else:
            raise DataError(f"{file.url} cannot be fetched: {problem}") from None
    except (OSError, HTTPException) as error:
        raise BrokenError(f"no connection ({error.reason if isinstance(error, URLError) else error})") from None
    if refused and start:
        say(f"{file.name} can't go on where it stopped: {refused}. It starts again")
        return _ask(file, 0, say)
    if response.status == 206:
        return response, start
    length = response.headers.get("Content-Length", str(file.size))
    if length != str(file.size):  # an error before the part is given up: a network that wants a login answers like this
        response.close()
        raise DataError(f"{file.url} must be a file of {file.size} bytes, but the server offers one of {length}")
    if start:
        say(f"{file.name}: the server can't go on with a file that has begun. It starts again")
    return response, 0


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _checksum(path: Path, name: str, progress: Progress) -> str:
    """Return the MD5 of a file: against damage, not against enemies, and the only sum that goes round for these."""
    digest, done, total = hashlib.md5(usedforsecurity=False), 0, path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            done += len(chunk)
            progress(f"checking {name}", done, total)
    return digest.hexdigest()
