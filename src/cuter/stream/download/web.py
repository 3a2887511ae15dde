"""A known file on the web, and a request for the rest of it from some byte on."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from cuter.errors import DataError

Tell = Callable[[str], None]

PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers of a server that may answer otherwise in a moment
TIMEOUT = 30  # seconds without a byte


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


def ask(file: WebFile, start: int, tell: Tell) -> tuple[HTTPResponse, int]:
    """Ask for the file from byte `start` on; return the answer and the byte with which it begins: `start` or 0."""
    try:
        request = Request(file.url, headers={"Range": f"bytes={start}-"} if start else {})
        response: HTTPResponse = urlopen(request, timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and start:
            return _ask_anew(file, f"the server has no byte {start}", tell)
        problem = f"the server answers {error.code} {error.reason}"
        if error.code in PASSING:
            raise BrokenError(problem) from None
        raise DataError(f"{file.url} cannot be fetched: {problem}") from None
    except (OSError, HTTPException) as error:
        raise BrokenError(f"no connection ({error.reason if isinstance(error, URLError) else error})") from None
    begin, length = _extent(response)
    fits = length in (None, file.size)
    if fits and begin in (0, start):
        if begin != start:
            tell(f"{file.name}: the server can't go on with a file that has begun. It starts again")
        return response, begin
    response.close()
    if start and response.status == 206:
        offered = response.headers.get("Content-Range")
        return _ask_anew(file, f"asked for byte {start} of {file.size}, the server answers with {offered!r}", tell)
    # An error before the part is given up for it: a network that wants a login first answers like this.
    raise DataError(f"{file.url} must be a file of {file.size} bytes, but the server offers one of {length}")


def _ask_anew(file: WebFile, reason: str, tell: Tell) -> tuple[HTTPResponse, int]:
    tell(f"{file.name} can't go on where it stopped: {reason}. It starts again")
    return ask(file, 0, tell)


def _extent(response: HTTPResponse) -> tuple[int, int | None]:
    """Return the first byte that an answer brings, and the length of the whole file if it tells."""
    if response.status == 206:
        told = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        return (int(told[1]), None if told[2] == "*" else int(told[2])) if told else (-1, None)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None
