"""Two tables of one suite side by side, as Markdown: what a change of the code did to each row.

python benchmarks/before_after.py docs/results/voc-small-before/table.csv docs/results/voc-small/table.csv
"""

import argparse
import csv
from pathlib import Path

Cells = dict[str, dict[str, str]]  # by row and column: mean ± std


def read(file: Path) -> Cells:
    """Read the figures of a table.csv."""
    cells: Cells = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if line["mean"]:
                std = f" ± {float(line['std']):.1f}" if line["std"] else ""
                cells.setdefault(line["row"], {})[line["column"]] = f"{float(line['mean']):.1f}{std}"
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--columns", nargs="+", default=["average.map", "last.map", "last.cf1_mean@0.8"])
    given = parser.parse_args()
    before, after = read(given.before), read(given.after)
    heads = [f"{column} {when}" for column in given.columns for when in ("before", "after")]
    print(f"| | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    for row in after:
        values = [table.get(row, {}).get(column, "–") for column in given.columns for table in (before, after)]
        print(f"| {row} | {' | '.join(values)} |")


if __name__ == "__main__":
    main()
