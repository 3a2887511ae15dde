"""Original checkpoint files from the web, kept in the user's cache."""

import shutil
import uuid
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from cuter.cache import cache_folder
from cuter.errors import BackboneError


def fetch(url: str) -> Path:
    """Return the local copy of a file, downloading it first if there is none."""
    path = cache_folder("backbones") / url.rsplit("/", 1)[-1]
    if path.exists():
        return path
    # A name of its own until it is whole: a kill leaves no half file, and two processes do not write into one.
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _download(url, part)
        part.replace(path)
    except (OSError, HTTPException) as error:
        raise BackboneError(
            f"{url} cannot be downloaded to {path.parent}: {error}. "
            "You can fetch it by other means and give the path of the file as the backbone's name."
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _download(url: str, part: Path) -> None:
    from rich.progress import wrap_file

    with urlopen(url, timeout=30) as response, part.open("wb") as file:
        expected = int(response.headers.get("Content-Length") or 0)
        with wrap_file(response, total=expected, description=url.rsplit("/", 1)[-1], transient=True) as body:
            shutil.copyfileobj(body, file)
        received = file.tell()
    if expected and received != expected:
        raise OSError(f"the connection broke after {received} of {expected} bytes")
