"""Chromium, as tests use it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

WAIT_SECONDS = 60.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

T = TypeVar("T")


def missing() -> str | None:
    """Why there is no browser; None if there is one."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        return "needs Chromium: apt-get install chromium chromium-driver"
    return None


class Browser:
    """A browser that looks at one console."""

    def __init__(self, url: str, directory: Path) -> None:
        options = Options()
        options.binary_location = str(shutil.which("chromium"))
        for flag in (*_FLAGS, f"--user-data-dir={directory}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(str(shutil.which("chromedriver"))))
        self.url = url
        self.resize(1280, 900)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """Have a window of this size; a real one is never as narrow as a phone."""
        what = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", what)

    def prefer(self, scheme: str) -> None:
        """Like light or dark pages."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, page: str = "overview") -> None:
        """Load the console anew, and show a page of it."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}/console#/{page}")

    def log_in(self, user: str, password: str) -> None:
        """Open the console as somebody."""
        self.driver.get(f"{self.url}/console")
        self.driver.execute_script("sessionStorage.clear()")
        self.open()
        self.one("#user").send_keys(user)
        self.one("#secret").send_keys(password)
        self.one(".login button").click()
        self.one("[data-page=overview]")
        self.errors()  # the first request is refused, and a browser tells that

    def one(self, selector: str) -> WebElement:
        """An element, once it is there."""
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, selector))

    def all(self, selector: str) -> list[WebElement]:
        """All elements that are there now."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        """What is written somewhere."""
        return self.wait(lambda: self.driver.find_element(By.CSS_SELECTOR, selector).text or " ")

    def script(self, text: str, *arguments: Any) -> Any:
        """What a script gives back."""
        return self.driver.execute_script(text, *arguments)

    def wait(self, found: Callable[[], T | None], seconds: float = WAIT_SECONDS) -> T:
        """Wait until there is something."""
        waiting = WebDriverWait(self.driver, seconds, 0.1, [StaleElementReferenceException, Exception])
        result = waiting.until(lambda _: found())
        assert result is not None
        return result

    def says(self, text: str, selector: str = "main") -> None:
        """Wait until something is written somewhere."""
        try:
            self.wait(lambda: text in self.text(selector))
        except Exception:
            raise AssertionError(f"{text!r} is not in {self.text(selector)!r}") from None

    def errors(self) -> list[str]:
        """What the browser complained about since the last time."""
        return [
            line["message"]
            for line in self.driver.get_log("browser")  # type: ignore[no-untyped-call]
            if line["level"] in ("SEVERE", "WARNING")
        ]

    def picture(self, file: Path) -> None:
        """Take a picture of what is seen."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(file))
