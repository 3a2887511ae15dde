"""What all pages have in common: head, navigation, colours; sections are templates of the package that has them."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

import cuter


def fill_page(package: str, **values: Any) -> str:
    """Return a page with the sections of a package; what it lacks is taken from the report of runs."""
    return _templates(package).get_template("page.html").render(version=cuter.__version__, **values)


@functools.cache
def _templates(package: str) -> Environment:
    """Return the templates, compiled once; whatever they are given is escaped, and nothing may be missing."""
    loader = ChoiceLoader([PackageLoader(package), PackageLoader("cuter.experiment.report")])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
