"""A browser, and a running platform for it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from infra.demo.photographs import write_archives
from tests.e2e.conftest import Archives
from tests.servers import LocalStack, stack_in

ARGUMENTS = (
    "--no-sandbox",  # tests run as root in containers, where Chromium's own sandbox cannot start
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
MISSING = (
    "There is no Chromium, so nobody looked at the console in a browser; install one: 'apt-get install chromium', or "
    "'.venv/bin/playwright install chromium'."
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Skips, saying how to get one, where there is none."""
    with sync_playwright() as playwright:
        path = _chromium(playwright)
        if path is None:
            pytest.skip(MISSING)
        with playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS)) as browser:
            yield browser


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    return Archives(*write_archives(tmp_path_factory.mktemp("photographs")))


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[LocalStack]:
    """A new installation; asked for after the browser, for without one it is not needed."""
    with stack_in(tmp_path_factory.mktemp("platform")) as stack:
        stack.up()
        yield stack


def _chromium(playwright: Playwright) -> str | None:
    own = playwright.chromium.executable_path
    return shutil.which("chromium") or shutil.which("chromium-browser") or (own if Path(own).exists() else None)
