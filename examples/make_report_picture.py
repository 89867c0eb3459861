"""Take the picture of the example report: python examples/make_report_picture.py.

Needs the extra `treefold[test]`, and Debian's packages chromium and chromium-driver. The picture
shows the first and the fourth section.
"""

import base64
import re
import shutil
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image, PngImagePlugin
from selenium import webdriver

from treefold.cli import make_app

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
WIDTH = 1240


def make_report(path: Path) -> None:
    """Run the command of the documentation."""
    data = str(ROOT / "examples" / "loans.csv")
    arguments = ["fit", data, "--target", "default", "--report", str(path)]
    make_app()(arguments, standalone_mode=False)


def read_verdict(path: Path) -> str:
    """Read the first line of a report."""
    found = re.search('<p class="headline verdict [a-z]+">(.*)</p>', path.read_text("utf-8"))
    assert found is not None
    return found[1]


def take_picture(path: Path) -> bytes:
    """Open a report and take a picture of its first and its fourth section."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    try:
        size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get(path.as_uri())
        driver.execute_script(
            "document.querySelectorAll('section:not(#answer, #tree), footer')"
            ".forEach(one => { one.style.display = 'none' })"
        )
        height = driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        wanted = {"captureBeyondViewport": True, "clip": clip}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", wanted)
    finally:
        driver.quit()
    return base64.b64decode(shot["data"])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "loans.html"
        make_report(report)
        PICTURE.parent.mkdir(exist_ok=True)
        about = PngImagePlugin.PngInfo()  # a test compares it with what the command says today
        about.add_text("Verdict", read_verdict(report))
        with Image.open(BytesIO(take_picture(report))) as picture:
            picture.convert("RGB").quantize(96).save(PICTURE, optimize=True, pnginfo=about)
