"""Take the pictures of the demonstration that README and docs show, from the page that it leaves.

    cuter demo --out runs/demo
    python docs/photograph.py runs/demo/report.html

Needs chromium, chromedriver and selenium (extra `dev`).
"""

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.remote.webdriver import WebDriver

WIDTH = 1180
SECTIONS = ("progress", "memory", "cuts", "selection", "localisation")
LIMIT = 1120  # pixels: of a long section the beginning is enough
FOLDER = Path(__file__).parent / "images"


def start_browser() -> WebDriver:
    """Start a browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def photograph(browser: WebDriver, section: str) -> Image.Image:
    """Return what a section looks like on a desktop."""
    node = browser.find_element("css selector", f"section[aria-labelledby={section}]")
    with Image.open(io.BytesIO(node.screenshot_as_png)) as image:
        return image.convert("RGB").crop((0, 0, image.width, min(image.height, LIMIT)))


def main() -> None:
    """Write one picture a section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    page = parser.parse_args().page.resolve()
    browser = start_browser()
    try:
        browser.set_window_size(WIDTH, 9000)  # the whole page, so that nothing is cut off
        browser.get(page.as_uri())
        for section in SECTIONS:
            photograph(browser, section).save(FOLDER / f"demo-{section}.png", optimize=True)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
