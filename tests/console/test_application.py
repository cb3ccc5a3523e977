"""The console of an application in Chromium: `millstream run --console`, on a real broker, with traffic."""

from __future__ import annotations

import os
from pathlib import Path

from . import checks
from .browser import Browser
from .conftest import READER, Running

PAGES = {
    "overview": "Commits",
    "topology": "Sub-topology 1",
    "state/income": "tea",
    "topics/sales": "customer-3",
    "letters/shop-dlq": "SerdeError",
    "tasks": "sold-per-minute",
}


def _choose_node(browser: Browser, name: str) -> None:
    browser.script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", browser.one(f"[data-node^={name}]")
    )


def test_every_page_opens_without_an_error_in_the_browsers_log(application_browser: Browser) -> None:
    checks.open_without_complaints(application_browser, PAGES)


def test_its_figures_move(application_browser: Browser) -> None:
    application_browser.open("overview")
    tile = "[data-tile=processed] b"
    first = application_browser.wait(lambda: int(application_browser.text(tile).replace(",", "")))
    application_browser.wait(lambda: int(application_browser.text(tile).replace(",", "")) > first)
    application_browser.says("RUNNING")


def test_nodes_tell_records_time_and_last_records(application_browser: Browser) -> None:
    browser = application_browser
    browser.open("topology")
    browser.one("[data-node^=KSTREAM-MAPVALUES] + .figures")
    _choose_node(browser, "KSTREAM-MAPVALUES")
    browser.says("score at shop.py:", ".details")
    browser.says("'customer-", ".details")
    browser.says("per second", ".details")
    browser.wait(lambda: browser.all(".drawing .figures.hot"))  # the function that takes most of the time
    _choose_node(browser, "KSTREAM-SINK")
    browser.says("income", ".details")
    assert browser.errors() == []


def test_a_keys_history_and_rows_of_every_kind_of_store(application_browser: Browser) -> None:
    browser = application_browser
    browser.open("state/prices/tea")
    browser.says("Valid from")
    browser.wait(lambda: [row.text.split()[1] for row in browser.all("tbody tr")] == ["3", "4", "5"])
    browser.says("up to date", "#staleness")
    for store, text in (("sold-per-minute", "Window"), ("visits", "customer-1"), ("income", "flour")):
        browser.open(f"state/{store}")
        browser.says(text)
    for how, fields, expected in (
        ("key is", {"key": "salt"}, {"salt"}),
        ("key begins with", {"prefix": "t"}, {"tea"}),
        ("key from … to", {"from": "flour", "to": "salt"}, {"flour", "salt"}),
    ):
        browser.one("#how").send_keys(how)
        for name, text in fields.items():
            browser.one(f"#field-{name}").send_keys(text)
        browser.one("#look").click()
        browser.wait(lambda expected=expected: {cell.text for cell in browser.all("tbody td:first-child")} >= expected)  # type: ignore[misc]
    assert browser.errors() == []


def test_a_dead_letter_is_mended_and_its_result_is_in_the_store(application_browser: Browser) -> None:
    browser = application_browser
    browser.open("letters/shop-dlq")
    browser.says("this is no JSON")
    browser.one("tbody summary").click()
    browser.says("At node KSTREAM-SOURCE")
    browser.one("button.edit").click()
    value = browser.one("#edit-value")
    value.clear()
    value.send_keys('{"product": "pepper", "amount": 2}')
    browser.one("dialog button.main").click()
    browser.wait(lambda: not browser.all("button.edit"))

    def has_pepper() -> bool:
        browser.one("#look").click()
        return "pepper" in browser.text()

    browser.open("state/income")
    browser.says("tea")
    browser.wait(has_pepper)
    assert browser.errors() == []


def test_one_who_only_looks_can_change_nothing(browser: Browser, application: Running) -> None:
    before, browser.url = browser.url, application.url
    browser.log_in(*READER)
    browser.open("topics/sales")
    browser.says("customer-3")
    assert not browser.one("#write").is_enabled()
    browser.url = before


def test_its_pages_are_for_everybody(application_browser: Browser) -> None:
    checks.are_reached_by_keyboard(application_browser, PAGES)
    checks.have_nothing_serious_in_the_way(application_browser, PAGES)
    checks.fit_a_phone(application_browser, PAGES)


def test_pictures_for_the_documentation(application_browser: Browser, tmp_path: Path) -> None:
    browser, folder = application_browser, checks.pictures_into(os.environ.get("MILLSTREAM_CONSOLE_PICTURES"), tmp_path)
    browser.resize(1180, 760)
    for page, name in (("overview", "application"), ("state/prices/tea", "history"), ("tasks", "tasks")):
        browser.open(page)
        browser.says("tea" if page.startswith("state") else PAGES[page])
        browser.picture(folder / f"console-{name}.png")
    browser.open("topology")
    browser.one("[data-node^=KSTREAM-MAPVALUES] + .figures")
    _choose_node(browser, "KSTREAM-MAPVALUES")
    browser.says("'customer-", ".details")
    browser.wait(lambda: browser.all(".drawing .figures.hot"))
    browser.picture(folder / "console-topology.png")
    browser.prefer("dark")
    browser.resize(390, 760, phone=True)
    browser.picture(folder / "console-phone.png")
    browser.prefer("light")
    assert len(list(folder.glob("console-*.png"))) >= 5
