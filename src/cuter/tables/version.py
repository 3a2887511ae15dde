"""Which code made something."""

import importlib.metadata
import subprocess
from pathlib import Path


def version() -> str:
    """Return the version of the package, with the commit where it is a checkout."""
    number = importlib.metadata.version("cuter")
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        # a virtual environment may lie in somebody else's checkout, whose commit says nothing about us
        tracked = subprocess.run([*git, "ls-files", __file__], capture_output=True, text=True, check=True).stdout
        if not tracked:
            return number
        describe = [*git, "describe", "--always", "--dirty", "--abbrev=12"]
        commit = subprocess.run(describe, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return number
    return f"{number} ({commit})"
