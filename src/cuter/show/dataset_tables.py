"""What the splits of a data set hold, for the terminal."""

from collections.abc import Sequence

from rich.text import Text

from cuter.show.narrow import FoldedTable
from cuter.stream.inspect import Inspection


def inspection_tables(inspections: Sequence[Inspection]) -> list[FoldedTable]:
    """Return what the terminal shows: an overview and the classes.

    `inspections` holds at least one.
    """
    overview = _table("", inspections)
    columns = [_facts(inspection) for inspection in inspections]
    for title in columns[0]:
        overview.add_row(title, *(facts[title] for facts in columns))
    classes = _table("class", inspections)
    for name in dict.fromkeys(name for inspection in inspections for name in inspection.counts):
        # Text, because a name such as "[red]" would be taken for markup
        classes.add_row(Text(name), *(_count(inspection.counts.get(name)) for inspection in inspections))
    return [overview, classes]


def _facts(inspection: Inspection) -> dict[str, str]:
    imbalance, unreadable = inspection.imbalance, inspection.unreadable
    return {
        "images": f"{inspection.images:,}",
        "classes": f"{inspection.classes:,}",
        "labels an image (mean)": f"{inspection.labels_mean:.2f}",
        "labels an image (max)": f"{inspection.labels_max}",
        "images without a label": f"{inspection.unlabelled:,}",
        "images with unknown classes": f"{inspection.partly_known:,}",
        "most / least frequent class": "–" if imbalance is None else f"{imbalance:.1f}",
        "classes without an image": f"{inspection.empty_classes:,}",
        "images with boxes": f"{inspection.boxed_share:.0%}",
        "unreadable files": "not checked" if unreadable is None else f"{len(unreadable):,}",
    }


def _table(first: str, inspections: Sequence[Inspection]) -> FoldedTable:
    table = FoldedTable(first)
    for inspection in inspections:
        table.add_column(Text(f"{inspection.dataset} {inspection.split}"), justify="right")
    return table


def _count(images: int | None) -> str:
    return "–" if images is None else f"{images:,}"  # a class of another data set is not a class without an image
