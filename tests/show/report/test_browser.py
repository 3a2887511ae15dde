"""Pages in a real browser, of runs and evaluations: whole, usable by keyboard, readable in light, dark, on a phone."""

import itertools
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from command import cuter
from cuter.show.report import write_report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

# Relative luminance and contrast as WCAG 2 defines them, of a text against the first ground behind it that is opaque.
CONTRAST = """
const parts = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => {
  const straight = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const [r, g, b] = parts(colour).slice(0, 3).map(v => straight(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = node => {
  for (; node; node = node.parentElement) {
    const [r, g, b, a = 1] = parts(getComputedStyle(node).backgroundColor);
    if (a === 1) return getComputedStyle(node).backgroundColor;
  }
  return "rgb(255, 255, 255)";
};
const texts = [...document.querySelectorAll("body *")].filter(
  node => [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()) && node.checkVisibility()
    && !["SCRIPT", "STYLE"].includes(node.tagName) && !node.closest(".skip, title"));
return texts.map(node => {
  const style = getComputedStyle(node), colour = node.closest("svg") ? style.fill : style.color;
  const both = [light(colour), light(ground(node.closest("svg") || node))];
  const contrast = (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
  return [contrast, node.tagName + "." + node.className + ": " + node.textContent.trim().slice(0, 30)];
}).sort((a, b) => a[0] - b[0])[0];
"""


PICTURES = {"report": 20, "evaluation": 4}  # there are more
SECTIONS = {"report": 9, "evaluation": 5}


@pytest.fixture(scope="module", params=["report", "evaluation"])
def page(
    request: pytest.FixtureRequest,
    real_runs: list[Path],
    nasty_shapes: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    folder = tmp_path_factory.mktemp("page") / "folder"
    if request.param == "report":
        return write_report(real_runs, folder / "report.html")
    data = ["--dataset", "folder", "--data-root", nasty_shapes]
    done = cuter("evaluate", real_runs[0], *data, "--out", folder, "--device", "cpu")
    assert done.returncode == 0, done.stderr
    return folder / "evaluation.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not (BROWSER and DRIVER):
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("chromium and chromedriver are not installed: 'make browser' does that")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def opened(browser: Any, page: Path) -> Any:
    """The page on a desktop with light colours, freshly loaded."""
    show(browser, 1280, "light")
    browser.get(page.as_uri())
    return browser


def show(browser: Any, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    media = {"media": "", "features": [{"name": name, "value": value} for name, value in wishes.items()]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def test_nothing_is_missing_and_nothing_is_fetched(browser: Any, page: Path) -> None:
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert page.as_uri() in asked
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert [url for url in asked if url.startswith("file://") and url != page.as_uri()] == []
    assert browser.get_log("browser") == []
    sizes = browser.execute_script("return [...document.images].map(one => [one.complete, one.naturalWidth, one.alt])")
    assert len(sizes) > PICTURES[page.stem]
    assert all(complete and width > 0 and alt for complete, width, alt in sizes)


def test_what_a_screen_reader_meets(opened: Any) -> None:
    levels = opened.execute_script(
        "return [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(one => Number(one.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels)), "no level is left out"
    ids = opened.execute_script("return [...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    nameless = opened.execute_script(
        "return [...document.querySelectorAll('svg')].filter(one => one.ariaHidden !== 'true' && !one.ariaLabel).length"
    )
    assert nameless == 0
    named = opened.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    charts = [node for node in named if node.get("role", {}).get("value") == "image" and not node.get("ignored")]
    assert charts
    assert all(node["name"]["value"] for node in charts)
    texts = opened.execute_script("return document.querySelector('main').textContent")
    assert '<b>&"ö猫' in texts, "a name is text, whatever it looks like"
    assert opened.execute_script("return document.querySelectorAll('b').length") == 0
    headless = opened.execute_script(
        "return [...document.querySelectorAll('table')].filter(one => !one.querySelector('th[scope]')).length"
    )
    assert headless == 0


@pytest.mark.parametrize("width", [360, 760, 761, 1000, 1280])
def test_only_tables_scroll_sideways(opened: Any, width: int) -> None:
    show(opened, width, "light")
    opened.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    scrolls, inner = opened.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert inner == width
    assert scrolls <= inner
    outside = opened.execute_script(
        """return [...document.querySelectorAll("main *, header *")].filter(one => one.checkVisibility()
        && !one.closest(".scroll, pre, svg, .unseen") && one.getBoundingClientRect().right > innerWidth + 1)
        .map(one => one.tagName + "." + one.className)"""
    )
    assert outside == []
    drawn, figures = opened.execute_script(
        """const drawn = [...document.querySelectorAll("svg[role=img]")];
        const figures = new Set(drawn.map(one => one.closest("figure")));
        return [drawn.filter(one => one.checkVisibility()).length, figures.size]"""
    )
    assert drawn == figures, "each chart in one of its two widths"
    small = opened.execute_script(
        """return Math.min(...[...document.querySelectorAll("figure svg text")].filter(one => one.checkVisibility())
        .map(one => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a))"""
    )
    assert small >= 9.5, "text in charts stays readable"


def test_the_keyboard_reaches_everything_in_order(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    opened.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    expected = opened.execute_script(
        """return [...document.querySelectorAll("a, button, summary, [tabindex='0']")]
        .filter(one => one.checkVisibility()).map(one => one.outerHTML.slice(0, 200))"""
    )
    reached = []
    for _ in expected:
        opened.switch_to.active_element.send_keys(Keys.TAB)
        shown, html, inside = opened.execute_script(
            """const one = document.activeElement, style = getComputedStyle(one), place = one.getBoundingClientRect();
            return [style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2, one.outerHTML.slice(0, 200),
                    place.bottom > 0 && place.top < innerHeight && place.left < innerWidth]"""
        )
        assert shown, f"the focus cannot be seen on {html}"
        assert inside, f"out of sight: {html}"
        reached.append(html)
    assert reached == expected
    assert "Skip to the results" in reached[0]
    assert 'id="theme"' in reached[1]
    assert any(html.startswith("<summary") for html in reached)
    assert any('class="scroll"' in html for html in reached)

    opened.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    opened.refresh()
    opened.switch_to.active_element.send_keys(Keys.TAB)
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.execute_script("return document.activeElement.id") == "main"


def test_details_open_by_keyboard(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    opened.execute_script("document.querySelector('summary').focus()")
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    assert opened.execute_script("return document.querySelector('details').open")


def test_light_and_dark(opened: Any) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    colours = "const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]"
    button = opened.find_element("id", "theme")
    opened.execute_script("localStorage.clear()")
    opened.refresh()
    seen = {}
    for scheme in ("light", "dark"):
        show(opened, 1280, scheme)
        opened.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
        seen[scheme] = opened.execute_script(colours)
        contrast, where = opened.execute_script(CONTRAST)
        assert contrast >= 4.5, f"{scheme}: {where}"
    assert not set(seen["light"]) & set(seen["dark"])

    button = opened.find_element("id", "theme")
    assert button.text == "Light colours", "it names what it brings"
    button.click()
    assert opened.execute_script(colours) == seen["light"]
    assert button.text == "Dark colours"
    # A browser may write down what a page stores only after the page is gone, so a busy one is asked again.
    WebDriverWait(opened, 10).until(
        lambda _: opened.refresh() or opened.execute_script(colours) == seen["light"], "the choice is kept"
    )
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    opened.execute_script("document.documentElement.dataset.theme = 'dark'")
    assert opened.execute_script(colours) == seen["light"], "paper is white"
    opened.execute_script("localStorage.clear()")


def test_without_scripts_all_is_there_but_the_button(browser: Any, page: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    show(browser, 1280, "light")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(page.as_uri())
        assert not browser.find_element("id", "theme").is_displayed()
        assert all(section.is_displayed() for section in browser.find_elements("css selector", "section"))
        assert len(browser.find_elements("css selector", "section")) == SECTIONS[page.stem]
        browser.find_element("css selector", "summary").send_keys(Keys.ENTER)
        assert browser.find_element("css selector", "details table").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
