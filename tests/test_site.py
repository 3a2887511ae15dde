"""The documentation site without building it: pages and navigation agree, links, anchors and images exist."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import cuter

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LINKED = [*PAGES, REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]

LINK = re.compile(r"(!?)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


class Tolerant(yaml.SafeLoader):
    """Reads mkdocs.yml, which may name Python functions, without calling them."""


Tolerant.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def site() -> dict[str, Any]:
    return yaml.load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"), Tolerant)


def leaves(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from (page for value in nav.values() for page in leaves(value))
    elif isinstance(nav, list):
        yield from (page for value in nav for page in leaves(value))


def prose(page: Path) -> str:
    """Return the text of a page without code blocks and code spans."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]+`", "", text)


def links(page: Path) -> list[tuple[bool, str]]:
    """Return whether each link of a page is an image, and where it leads."""
    return [(bool(image), target) for image, target in LINK.findall(prose(page))]


def anchors(page: Path) -> list[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def names(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


def test_every_page_is_in_the_navigation_once() -> None:
    listed = list(leaves(site()["nav"]))
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


@pytest.mark.parametrize("page", LINKED, ids=names)
def test_links_anchors_and_images_exist(page: Path) -> None:
    dead = []
    for image, target in links(page):
        if target.startswith(("https://", "http://")):
            assert not image, f"{target}: an image from elsewhere is loaded when the page is opened"
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.is_file() or (anchor and anchor not in anchors(file)):
            dead.append(target)
        elif DOCS in page.parents and DOCS not in file.parents:
            dead.append(f"{target} (outside docs/: not part of the site)")
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_headings_of_a_page_have_different_anchors(page: Path) -> None:
    if page.name != "table.md":  # which `cuter paper` writes
        assert len(set(anchors(page))) == len(anchors(page))


def test_every_image_is_shown_somewhere() -> None:
    shown = {(page.parent / target).resolve() for page in LINKED for image, target in links(page) if image}
    assert set((DOCS / "images").iterdir()) <= shown


def test_the_reference_documents_names_that_exist_and_all_public_ones() -> None:
    documented = {
        name
        for page in (DOCS / "reference" / "api").glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    public = {f"cuter.{name}" for name in cuter.__all__}
    assert public <= documented
    assert [name for name in documented - public if importlib.util.find_spec(name) is None] == []


def test_a_warning_is_an_error_and_nothing_is_loaded_from_elsewhere() -> None:
    settings = site()
    assert settings["strict"] is True
    assert settings["theme"]["font"] is False
    for files in ("extra_css", "extra_javascript"):
        assert all((DOCS / file).is_file() for file in settings.get(files, []))
