"""The report in a real browser: headless Chromium, if it is installed."""

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import LOANS, fit
from reports import SCRIPT, write_hostile

pytest.importorskip("vl_convert")
webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip(
        "The browser tests were left out: they need chromium and chromedriver "
        "(Debian: apt-get install chromium chromium-driver).",
        allow_module_level=True,
    )

OPEN = "return document.querySelectorAll('.tree details[open]').length"
ALL = "return document.querySelectorAll('.tree details').length"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("browser")
    fit(LOANS, "default", "--cv", 3, "--no-nested", "--report", folder / "loans.html")
    data = write_hostile(folder / "hostile.csv")
    target = f"target {SCRIPT}"
    fit(data, target, "--cv", 3, "--no-nested", "--report", folder / "hostile.html")
    return {name: (folder / f"{name}.html").as_uri() for name in ("loans", "hostile")}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--force-prefers-reduced-motion",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def open_page(browser: Any, address: str, *, width: int = 1280, script: bool = True) -> None:
    """Open a page as on a screen of some width; what was logged before is forgotten."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    browser.get_log("performance"), browser.get_log("browser")
    browser.get(address)


def list_requests(browser: Any) -> list[str]:
    """Everything that was asked for since the page was opened, the page itself included."""
    messages = [json.loads(one["message"])["message"] for one in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("name", ["loans", "hostile"])
def test_nothing_is_fetched_and_nothing_is_wrong(
    browser: Any, reports: dict[str, str], name: str
) -> None:
    open_page(browser, reports[name])
    assert browser.execute_script("return document.readyState") == "complete"
    assert browser.get_log("browser") == []
    assert [one for one in list_requests(browser) if not one.startswith("data:")] == [reports[name]]
    assert browser.execute_script("return window.hacked === undefined")


@pytest.mark.parametrize("name", ["loans", "hostile"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_never_wider_than_the_screen(
    browser: Any, reports: dict[str, str], name: str, width: int
) -> None:
    open_page(browser, reports[name], width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_tree_folds_and_unfolds(browser: Any, reports: dict[str, str]) -> None:
    open_page(browser, reports["loans"])
    n_splits = browser.execute_script(ALL)
    assert n_splits >= 3
    fold, unfold = (
        next(one for one in browser.find_elements("css selector", "#tree-tools button")
             if one.text == text)
        for text in ("Fold all", "Unfold all")
    )  # fmt: skip
    fold.click()
    assert browser.execute_script(OPEN) == 0
    unfold.click()
    assert browser.execute_script(OPEN) == n_splits
    root = browser.find_element("css selector", ".tree summary")
    browser.execute_script("arguments[0].focus()", root)
    root.send_keys(" ")  # by keyboard
    assert browser.execute_script(OPEN) == n_splits - 1


def test_a_node_in_focus_tells_its_counts(browser: Any, reports: dict[str, str]) -> None:
    open_page(browser, reports["loans"])
    row = browser.find_element("css selector", ".tree li li .node")
    facts = row.find_element("css selector", ".facts")
    assert not facts.is_displayed()
    browser.execute_script("arguments[0].focus()", row)
    assert facts.is_displayed()
    for words in ("rows", "“yes”", "held out", "same split", "of 3 folds", "cut at"):
        assert words in facts.text


def test_the_map_leads_to_the_node(browser: Any, reports: dict[str, str]) -> None:
    open_page(browser, reports["loans"])
    browser.find_element("css selector", ".map .area .area a").click()
    focused = "return document.activeElement.closest('li').id"
    assert browser.execute_script(focused) == "node-1"


def test_it_is_read_without_javascript(browser: Any, reports: dict[str, str]) -> None:
    open_page(browser, reports["loans"], script=False)
    try:
        text = browser.find_element("css selector", "main").text
        root = browser.find_element("css selector", ".tree summary")
        child = browser.find_element("css selector", ".tree li li .node")
        assert child.is_displayed()
        root.click()
        assert not child.is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    for words in ("Quote this", "late_payments", "How to read this", "Model card"):
        assert words in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(
    browser: Any, reports: dict[str, str], scheme: str
) -> None:
    """WCAG's contrast of at least 4.5 for ink, muted text and accents, on every surface."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    open_page(browser, reports["loans"])
    names = ["ink", "muted", "accent", "warn", "paper", "panel", "soft"]
    style = "getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()"
    read = f"return Object.fromEntries(arguments[0].map(name => [name, {style}]))"
    colours = browser.execute_script(read, names)
    for text in names[:4]:
        for surface in names[4:]:
            assert contrast(colours[text], colours[surface]) >= 4.5, (text, surface)


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints(browser: Any, reports: dict[str, str], tmp_path: Path) -> None:
    open_page(browser, reports["loans"])
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert not browser.find_element("css selector", "nav").is_displayed()
        assert browser.find_element("css selector", ".tree").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
