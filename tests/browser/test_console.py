"""From photographs to a published model, clicking only."""

import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.visitor import Visitor
from tests.e2e.conftest import Archives
from tests.servers import LocalStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CLICKS_MOST = 12
SECONDS_MOST = 300
TRAINING_S = 400


def a_photo(archive: Path, folder: Path) -> Path:
    """One that no training has seen."""
    with zipfile.ZipFile(archive) as photos:
        name = next(name for name in photos.namelist() if not name.endswith("/"))
        return Path(photos.extract(name, folder))


def test_from_photographs_to_a_published_model(
    browser: Browser,
    stack: LocalStack,
    archives: Archives,
    tmp_path: Path,
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    visitor = Visitor(browser, stack.gateway_url, "en", 1200)
    page, began, faults = visitor.page, time.monotonic(), list[str]()
    visitor.sees("sign_in.title")
    faults += visitor.faults()
    visitor.sign_in(stack.admin_key)
    visitor.sees("datasets.first")
    page.get_by_label(visitor.words("new.name")).fill("surfaces")
    visitor.press("new.go")
    visitor.sees("data.first")
    page.locator("input[type=file]").set_input_files(archives.training)
    visitor.press("data.next", "link")
    visitor.press("train.go")
    visitor.sees("train.done", TRAINING_S)
    faults += visitor.faults()
    visitor.press("train.next", "link")
    visitor.sees("look.meaning")
    faults += visitor.faults()
    visitor.press("look.next", "link")
    visitor.sees("publish.live")
    took = time.monotonic() - began
    page.locator("input[type=file]").set_input_files(a_photo(archives.held_out, tmp_path))
    page.locator(".preview").wait_for()
    page.locator(".big").wait_for()
    faults += visitor.faults()
    record_testsuite_property("clicks", visitor.clicks)
    record_testsuite_property("seconds", round(took))
    assert faults == []
    assert visitor.clicks <= CLICKS_MOST
    assert took < SECONDS_MOST


def test_a_reload_in_chinese_on_a_phone_loses_nothing(browser: Browser, stack: LocalStack) -> None:
    visitor = Visitor(browser, stack.gateway_url, "zh", 390)
    visitor.sign_in(stack.admin_key)
    visitor.page.get_by_role("link", name="surfaces").click()
    faults = list[str]()
    for step in ("steps.data", "steps.train", "steps.look", "steps.publish"):
        visitor.press(step, "link")
        visitor.page.reload()
        visitor.page.locator("section.card").first.wait_for()
        faults += visitor.faults()
    assert faults == []


def test_photos_class_by_class_become_one_version(
    browser: Browser, stack: LocalStack, archives: Archives, tmp_path: Path
) -> None:
    visitor = Visitor(browser, stack.gateway_url, "en", 1200)
    page = visitor.page
    visitor.sign_in(stack.admin_key)
    page.get_by_label(visitor.words("new.name")).fill("by hand")
    visitor.press("new.go")
    with zipfile.ZipFile(archives.training) as photos:
        names = [name for name in photos.namelist() if not name.endswith("/")]
        photos.extractall(tmp_path, names)
    for label in ("brick", "grass"):
        page.locator("input[type=file]").set_input_files([tmp_path / name for name in names if label in name])
        page.locator("#label").fill(label)
        visitor.press("upload.go")
    visitor.press("upload.send")
    visitor.sees("findings.title")
    assert page.locator(".bars dt").all_inner_texts() == ["brick", "grass"]
    assert visitor.faults() == []


def test_a_wrong_key_is_told(browser: Browser, stack: LocalStack) -> None:
    visitor = Visitor(browser, stack.gateway_url, "en", 390)
    visitor.sign_in("elk_0000000000000000")
    assert "secrets.json" in visitor.page.get_by_role("alert").inner_text()
