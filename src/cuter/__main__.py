"""Let `python -m cuter` do what `cuter` does."""

from cuter.cli import main

main()
