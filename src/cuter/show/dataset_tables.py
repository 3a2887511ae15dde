"""What the splits of a data set hold, for the terminal."""

from collections.abc import Sequence

from cuter.show.narrow import FoldedTable
from cuter.show.table import NOTHING, number, plain_table, terminal
from cuter.stream.inspect import Inspection


def inspection_tables(inspections: Sequence[Inspection]) -> list[FoldedTable]:
    """Return an overview and the classes of at least one split."""
    splits = [f"{inspection.dataset} {inspection.split}" for inspection in inspections]
    facts = [_facts(inspection) for inspection in inspections]
    overview = [[title, *(one[title] for one in facts)] for title in facts[0]]
    names = dict.fromkeys(name for inspection in inspections for name in inspection.counts)
    # A class of another data set is not a class without an image.
    counts = [[name, *(number(inspection.counts.get(name), 0) for inspection in inspections)] for name in names]
    tables = (plain_table(["", *splits], overview), plain_table(["class", *splits], counts))
    return [terminal(table, boxed=True) for table in tables]


def _facts(inspection: Inspection) -> dict[str, str]:
    imbalance, unreadable = inspection.imbalance, inspection.unreadable
    return {
        "images": f"{inspection.images:,}",
        "classes": f"{inspection.classes:,}",
        "labels an image (mean)": f"{inspection.labels_mean:.2f}",
        "labels an image (max)": f"{inspection.labels_max}",
        "images without a label": f"{inspection.unlabelled:,}",
        "images with unknown classes": f"{inspection.partly_known:,}",
        "most / least frequent class": NOTHING if imbalance is None else f"{imbalance:.1f}",
        "classes without an image": f"{inspection.empty_classes:,}",
        "classes spelled alike": f"{sum(map(len, inspection.alike)):,}",
        "images with boxes": f"{inspection.boxed_share:.0%}",
        "unreadable files": "not checked" if unreadable is None else f"{len(unreadable):,}",
    }
