"""A headless Chromium, Debian's, that tests of pages look through."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

# .ci/run installs the browser and sets this: without a browser tests fail there, and are skipped elsewhere.
IS_REQUIRED = "SEGMENTER_BROWSER" in os.environ

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Chrome]:
    """Start a browser that reports its requests and its console."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver) and not IS_REQUIRED:
        pytest.skip("needs Debian's packages chromium and chromium-driver")
    options = ChromeOptions()
    options.binary_location = binary or "chromium"
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    browser = Chrome(options=options, service=ChromeService(driver or "chromedriver"))
    try:
        yield browser
    finally:
        browser.quit()


def show(browser: Chrome, path: Path, *, size: tuple[int, int] = (1280, 900), scheme: str = "light") -> None:
    """Open a page in a window of so many pixels."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(path.as_uri())


def requests(browser: Chrome) -> list[str]:
    """Addresses that were asked for since the page was opened."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


def settle(browser: Chrome) -> None:
    """Wait until the page has drawn what it was told."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"
    )


def run(browser: Chrome, script: str, *arguments: object) -> Any:
    """Run JavaScript, once the page has settled."""
    settle(browser)
    return browser.execute_script(script, *arguments)
