"""Image files on this machine for paths that were listed on another."""

import os
from itertools import product
from pathlib import Path

from cuter.stream.datasets.files import DRIVE, native, relative_path


class ImageFinder:
    """Looks for a listed image under the root: as listed, then without its first folders, then in image folders.

    A list may say `/media/disk/COCO/val2014/x.jpg` or `C:\\flickr\\x.jpg`: what counts is the end of the path that
    exists under the root. Each folder is listed once: of NUS-WIDE, a hundred thousand images may
    be missing, and each is looked for in several places.
    """

    def __init__(self, root: Path, image_folders: tuple[str, ...]):
        self.root = root
        self.image_folders = image_folders
        self._contents: dict[str, frozenset[str]] = {}

    def __call__(self, listed: str, where: str) -> Path:
        """Return the file, or where it was looked for first if there is none."""
        ending = DRIVE.sub("", listed.strip().replace("\\", "/"), count=1).lstrip("/")
        parts = native(relative_path(ending, where)).split("/")
        for folder, skip in product(("", *self.image_folders), range(len(parts))):
            parent = os.path.join(folder, *parts[skip:-1])
            if parts[-1] in self._names(parent):
                return self.root / parent / parts[-1]
        return self.root.joinpath(*parts)

    def _names(self, folder: str) -> frozenset[str]:
        if folder not in self._contents:
            try:
                self._contents[folder] = frozenset(os.listdir(self.root / folder))
            except OSError:  # most of the places to look in do not exist
                self._contents[folder] = frozenset()
        return self._contents[folder]
