"""What all pages have in common: head, navigation, colours. Every section is a template of the folder templates/."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import cuter
from cuter.show.charts import marker


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Args:
        id: Its address in the page.
        short: Its name in the navigation.
        heading: Its heading.
        data: What its template shows.
        template: The name of its template without .html, if that is not its id.
    """

    id: str
    short: str
    heading: str
    data: Any
    template: str = ""


def fill_page(*, sections: Sequence[Section], **values: Any) -> str:
    """Return a page with these sections."""
    return _templates().get_template("page.html").render(version=cuter.__version__, sections=sections, **values)


@functools.cache
def _templates() -> Environment:
    """Return the templates, compiled once; whatever they are given is escaped, and nothing may be missing."""
    loader = PackageLoader("cuter.show")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.globals["marker"] = marker
    return made
