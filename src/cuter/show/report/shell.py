"""What all pages have in common: head, navigation, colours; sections are templates of the package that has them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

import cuter


@dataclass(frozen=True)
class Section:
    """A part of a page; its template is named by its id, and is handed the data."""

    id: str
    short: str
    heading: str
    data: Any


def fill_page(package: str, *, sections: Sequence[Section], **values: Any) -> str:
    """Return a page with sections whose templates a package has; what it lacks is taken from the report of runs."""
    page = _templates(package).get_template("page.html")
    return page.render(version=cuter.__version__, sections=sections, **values)


@functools.cache
def _templates(package: str) -> Environment:
    """Return the templates, compiled once; whatever they are given is escaped, and nothing may be missing."""
    loader = ChoiceLoader([PackageLoader(package), PackageLoader("cuter.show.report")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
