"""The console in Chromium, on a real broker with running queries."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from . import checks
from .browser import Browser
from .conftest import HOSTILE, READER, Served

PAGES = {
    "overview": "Persistent queries",
    "topology": "Statement",
    "sql": "Answers come here",
    "state/TOTALS": "customer-3",
    "topics/orders": "customer-3",
    "letters/orders-dlq": "many is no number",
    "lanes": "Tasks in the lanes",
}


def test_every_page_opens_without_an_error_in_the_browsers_log(admin_browser: Browser) -> None:
    checks.open_without_complaints(admin_browser, PAGES)


def test_pictures_for_the_documentation(admin_browser: Browser, tmp_path: Path) -> None:
    folder = checks.pictures_into(os.environ.get("MILLSTREAM_CONSOLE_PICTURES"), tmp_path)
    admin_browser.resize(1180, 760)
    for page in ("overview", "sql", "state/TOTALS", "topics/orders", "letters/orders-dlq", "lanes"):
        admin_browser.prefer("dark" if page == "sql" else "light")
        admin_browser.open(page)
        admin_browser.says(PAGES[page])
        if page == "sql":
            statement = "SELECT id, product, amount FROM orders WHERE amount > 50 EMIT CHANGES LIMIT 6;"
            keys = ("-- large orders as they come\n", statement, Keys.CONTROL + Keys.ENTER)
            admin_browser.one("#statement").send_keys(*keys)
            admin_browser.says("6 rows in", "#answer")
        if page == "overview":
            admin_browser.wait(lambda: admin_browser.all(".chart .line"))
        file = folder / f"console-{page.partition('/')[0]}.png"
        admin_browser.picture(file)
        assert file.stat().st_size > 10_000
    admin_browser.prefer("light")


def test_figures_move(admin_browser: Browser, served: Served) -> None:
    admin_browser.open("overview")
    tile = "[data-tile=processed] b"
    admin_browser.wait(lambda: int(admin_browser.text(tile).replace(",", "")) >= 40)
    before = int(admin_browser.text(tile).replace(",", ""))
    admin_browser.script("document.querySelector('tbody a').focus()")
    for number in range(5):
        served.write("orders", "customer-1", json.dumps({"PRODUCT": "tea", "AMOUNT": number}))
    admin_browser.wait(lambda: int(admin_browser.text(tile).replace(",", "")) > before)
    admin_browser.says("CTAS_TOTALS")
    admin_browser.wait(lambda: admin_browser.all(".chart path"))
    focused = admin_browser.script("return document.activeElement.textContent")
    assert focused.startswith("CTAS_TOTALS"), "who is at a query stays there while figures move"


def test_the_drawing_tells_of_its_nodes(admin_browser: Browser, served: Served) -> None:
    def sell() -> list[WebElement]:
        served.write("orders", "customer-1", json.dumps({"PRODUCT": "tea", "AMOUNT": 1}))
        return admin_browser.all("[data-node] + .figures")

    admin_browser.open("topology")
    admin_browser.wait(sell)  # lanes look as long as the page is open
    topic = admin_browser.one("[data-topic=orders]")
    admin_browser.wait(lambda: any("behind" in figure.text for figure in admin_browser.all(".figure")))
    topic.send_keys(Keys.ENTER)  # as with a keyboard
    admin_browser.says("Positions")
    admin_browser.script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", admin_browser.one("[data-node]")
    )
    admin_browser.says("Reads topics")
    admin_browser.says("'customer-1'", ".details")
    assert admin_browser.errors() == []


def test_rows_of_a_push_query_arrive_until_it_is_stopped(admin_browser: Browser, served: Served) -> None:
    admin_browser.open("sql")
    area = admin_browser.one("#statement")
    area.send_keys("SELECT id, product FROM ord")
    admin_browser.says("ORDERS", "#choices")
    area.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    area.send_keys(" WHERE id = 'late-one' EMIT CHANGES;", Keys.CONTROL + Keys.ENTER)
    admin_browser.wait(lambda: admin_browser.one("#stop").is_enabled())
    served.write("orders", "late-one", json.dumps({"PRODUCT": "pepper", "AMOUNT": 1}))
    admin_browser.says("pepper", "#answer")
    admin_browser.one("#stop").click()
    admin_browser.says("stopped", "#answer")
    assert admin_browser.errors() == []


def test_an_error_is_marked_at_its_place(admin_browser: Browser) -> None:
    for statement, told, marked in (
        ("SELECT id\nFRM orders;", "line 2:5", "orders"),
        ("SHOW TABLES;\nSELECT id,\n  nope FROM orders EMIT CHANGES;", "cannot be resolved", "nope"),
        ("\n\nSELECT * FROM odrers EMIT CHANGES;", "does not exist", "odrers"),
    ):
        admin_browser.open("sql")
        admin_browser.one("#statement").send_keys(statement, Keys.CONTROL + Keys.ENTER)
        admin_browser.says(told, "#answer .error")
        assert admin_browser.text(".wrong") == marked
    admin_browser.errors()  # a browser tells of each refusal


def test_a_statement_is_drawn_before_it_is_run(admin_browser: Browser) -> None:
    admin_browser.open("sql")
    admin_browser.one("#statement").send_keys(
        "CREATE TABLE by_product AS SELECT product, COUNT(*) FROM orders GROUP BY product;"
    )
    admin_browser.one("#draw").click()
    admin_browser.says("What would run", "#answer")
    assert len(admin_browser.all("#answer [data-node]")) > 4
    admin_browser.open("sql")
    admin_browser.one("#statement").send_keys(
        "EXPLAIN SELECT id, amount FROM orders WHERE amount > 5 EMIT CHANGES;", Keys.CONTROL + Keys.ENTER
    )
    admin_browser.says("What would run", "#answer")
    assert admin_browser.all("#answer [data-node]")
    assert admin_browser.text("#answer dl")


def test_what_hangs_on_a_table_is_told_before_it_is_dropped(admin_browser: Browser, served: Served) -> None:
    served.run("CREATE TABLE brief AS SELECT id, COUNT(*) AS n FROM orders GROUP BY id;")
    admin_browser.open("sql")
    admin_browser.one("#statement").send_keys("DROP STREAM orders; DROP TABLE brief;", Keys.CONTROL + Keys.ENTER)
    admin_browser.says("CTAS_TOTALS", "dialog")  # which reads it
    admin_browser.says("ends the query CTAS_BRIEF", "dialog")
    admin_browser.one("dialog").send_keys(Keys.ESCAPE)
    admin_browser.says("Nothing was run", "#answer")
    admin_browser.open("sql")
    statements = "-- it is not needed any more\nSHOW TABLES;\nDROP TABLE brief;"
    admin_browser.one("#statement").send_keys(statements, Keys.CONTROL + Keys.ENTER)
    admin_browser.says("ends the query CTAS_BRIEF", "dialog")
    admin_browser.one("dialog button.danger").click()
    admin_browser.says("SUCCESS", "#answer")
    assert admin_browser.errors() == []


def test_rows_of_a_table_by_key_beginning_and_range(admin_browser: Browser) -> None:
    admin_browser.open("state/TOTALS")
    admin_browser.says("customer-7")
    for how, keys, expected in (
        ("key is", ("customer-2",), {"customer-2"}),
        ("key begins with", ("customer-",), {f"customer-{number}" for number in range(8)}),
        ("key from … to", ("customer-3", "customer-5"), {"customer-3", "customer-4", "customer-5"}),
    ):
        admin_browser.one("#how").send_keys(how)
        for place, key in zip(("#key-0", "#last"), keys, strict=False):
            admin_browser.one(place).clear()
            admin_browser.one(place).send_keys(key)
        admin_browser.one("#look").click()
        found = partial(_first_cells, admin_browser, expected)
        admin_browser.wait(found)


def _first_cells(browser: Browser, expected: set[str]) -> bool:
    return {cell.text for cell in browser.all("tbody td:first-child")} == expected


def test_a_hostile_record_is_shown_as_text(admin_browser: Browser, served: Served) -> None:
    served.write("orders", HOSTILE, json.dumps({"PRODUCT": HOSTILE, "AMOUNT": 1}), {"trap": HOSTILE})
    for page in ("topics/orders", "state/TOTALS"):
        admin_browser.open(page)
        admin_browser.says("<script>window.hurt = 1</script>")
    served.write(
        "orders-dlq", HOSTILE, HOSTILE, {"__streams.errors.message": HOSTILE, "__streams.errors.topic": "orders"}
    )
    admin_browser.open("letters/orders-dlq")
    admin_browser.says("<script>window.hurt = 1</script>")
    admin_browser.open("sql")
    statement = "SELECT product FROM orders WHERE amount = 1 AND product LIKE '<script%' EMIT CHANGES LIMIT 1;"
    admin_browser.one("#statement").send_keys(statement, Keys.CONTROL + Keys.ENTER)
    admin_browser.says("<script>window.hurt = 1</script>", "#answer")
    assert admin_browser.script("return window.hurt") is None
    assert admin_browser.errors() == []


def test_a_record_is_written_and_followed_live(admin_browser: Browser, served: Served) -> None:
    admin_browser.open("topics/orders")
    admin_browser.says("customer-3")
    admin_browser.one("#follow").click()
    admin_browser.says("Waiting for new records")
    admin_browser.one("#write").click()
    admin_browser.one("#new-key").send_keys("by-hand")
    admin_browser.one("#new-value").send_keys('{"PRODUCT": "cinnamon", "AMOUNT": 3}')
    admin_browser.one("dialog button.main").click()
    admin_browser.says("cinnamon", "#live")
    admin_browser.one("#follow").click()
    served.write("orders", "long-one", "x" * 5000 + "the end")
    admin_browser.one("form button.main").click()
    admin_browser.says("5,007 characters")
    admin_browser.one("tbody button.link").click()
    admin_browser.says("xthe end", "dialog")
    admin_browser.one("dialog button.main").click()
    assert admin_browser.errors() == []


def test_a_dead_letter_is_mended_replayed_and_its_result_comes_out(admin_browser: Browser, served: Served) -> None:
    admin_browser.open("letters/orders-dlq")
    admin_browser.says("KeyError")
    admin_browser.one("#letter-filter").send_keys("broken-1")
    admin_browser.wait(lambda: len(admin_browser.all("button.edit")) == 1)
    admin_browser.one("button.edit").click()
    value = admin_browser.one("#edit-value")
    value.clear()
    value.send_keys('{"PRODUCT":"tea","AMOUNT":12}')
    admin_browser.one("dialog button.main").click()
    admin_browser.wait(lambda: not admin_browser.all("button.edit"))
    query = "SELECT amount FROM totals WHERE id = 'broken-1';"
    admin_browser.wait(lambda: served.rows(query) == [[12]])
    admin_browser.one("#also-done").click()
    admin_browser.says("replayed")
    assert admin_browser.errors() == []


def test_one_who_only_looks_can_change_nothing(browser: Browser, served: Served) -> None:
    browser.log_in(*READER)
    browser.open("topics/orders")
    browser.says("customer-3")
    assert not browser.one("#write").is_enabled()
    browser.open("letters/orders-dlq")
    browser.says("many is no number")
    browser.one("#choose-all").click()
    assert not browser.one("#replay").is_enabled()
    browser.open("state/TOTALS")
    browser.says("customer-3")
    browser.open("sql")
    browser.one("#statement").send_keys("DROP TABLE totals;", Keys.CONTROL + Keys.ENTER)
    browser.says("You may look, and change nothing", "#answer")
    for path, body in (
        ("/ksql", {"ksql": "INSERT INTO orders (id, product, amount) VALUES ('x', 'y', 1);"}),
        ("/console/api/topics/orders/records", {"key": None, "value": {"text": "x"}}),
        ("/console/api/letters/orders-dlq/replay", {"letters": [{"partition": 0, "offset": 0}]}),
    ):
        status, _ = served.client(READER).request("POST", path, json.dumps(body).encode())
        assert status == 403, path
    assert served.client(READER).ksql("SHOW TABLES;")


def test_a_phones_width_works(admin_browser: Browser) -> None:
    checks.fit_a_phone(admin_browser, PAGES)


def test_nothing_serious_stands_in_the_way_of_those_who_see_or_move_differently(admin_browser: Browser) -> None:
    checks.have_nothing_serious_in_the_way(admin_browser, PAGES)


def test_the_keyboard_alone_reaches_everything(admin_browser: Browser) -> None:
    checks.are_reached_by_keyboard(admin_browser, PAGES)


def test_a_wrong_password_is_told(browser: Browser) -> None:
    browser.driver.get(f"{browser.url}/console")
    browser.script("sessionStorage.clear()")
    browser.open()
    browser.one("#user").send_keys("admin")
    browser.one("#secret").send_keys("wrong")
    browser.one(".login button").click()
    browser.says("is wrong")
