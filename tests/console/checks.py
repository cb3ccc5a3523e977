"""What must hold on every page of a console."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from .browser import Browser

_RUN_AXE = """
const done = arguments[arguments.length - 1];
const told = (one) => [one.impact, one.id, one.nodes.map((node) => node.html)];
axe.run(document, arguments[0]).then((found) => done(found.violations.map(told)));
"""
_FOCUSABLE = """
window.numbered = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button]")]
  .filter((element) => !element.disabled && element.checkVisibility() && !element.closest(".skip"));
return window.numbered.length;
"""
_WHERE = "return String(window.numbered.indexOf(document.activeElement));"

#: Pages, and a text that is on each once it is there.
Pages = Mapping[str, str]


def open_without_complaints(browser: Browser, pages: Pages) -> None:
    """Each page opens, and nothing is in the browser's log."""
    for page, text in pages.items():
        browser.open(page)
        browser.says(text)
        assert browser.errors() == [], page


def fit_a_phone(browser: Browser, pages: Pages) -> None:
    """No page is wider than a phone."""
    browser.resize(375, 720, phone=True)
    for page, text in pages.items():
        browser.open(page)
        browser.says(text)
        width = browser.script("return document.documentElement.scrollWidth")
        assert width <= 375, page


def have_nothing_serious_in_the_way(browser: Browser, pages: Pages) -> None:
    """Axe finds nothing serious, in light and dark."""
    check = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
    colours: dict[str, Any] = {"runOnly": ["color-contrast"]}
    for scheme, options in (("light", {}), ("dark", colours)):  # only the colours differ
        browser.prefer(scheme)
        for page, text in pages.items():
            browser.open(page)
            browser.says(text)
            browser.script(check)
            found = browser.driver.execute_async_script(_RUN_AXE, options)
            serious = [one for one in found if one[0] in ("serious", "critical")]
            assert serious == [], (page, scheme)
    browser.prefer("light")


def are_reached_by_keyboard(browser: Browser, pages: Pages) -> None:
    """What can be clicked can be focused: nothing is a button only for a mouse."""
    for page, text in pages.items():
        browser.open(page)
        browser.says(text)
        reached: set[str] = set()
        wanted = browser.script(_FOCUSABLE)
        browser.script("document.activeElement?.blur()")
        for _ in range(wanted + 20):
            ActionChains(browser.driver).send_keys(Keys.TAB).perform()
            reached.add(browser.script(_WHERE))
            if len(reached) >= wanted:
                break
        assert len(reached) >= wanted, page


def pictures_into(folder: str | None, default: Path) -> Path:
    """Where pictures for the documentation go: into what MILLSTREAM_CONSOLE_PICTURES says, else where nobody looks."""
    return default if folder is None else Path(folder).absolute()
