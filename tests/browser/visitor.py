"""Somebody at a browser: counts their clicks, hears the console log, and knows the keys of the sentences."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page

from services.gateway.api.console import FOLDER

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
LOUD = frozenset({"error", "warning"})


class Visitor:
    """`language` is "en" or "zh"; `width` in pixels. Whoever waits for something waits `patience_s` at most."""

    def __init__(self, browser: Browser, url: str, language: str, width: int, patience_s: float = 30) -> None:
        self._words: dict[str, str] = json.loads((FOLDER / "messages" / f"{language}.json").read_text("utf-8"))
        context = browser.new_context(
            locale={"en": "en-GB", "zh": "zh-CN"}[language], viewport={"width": width, "height": 900}
        )
        context.set_default_timeout(patience_s * 1000)
        self.page: Page = context.new_page()
        self.clicks = 0
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self._hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self._hear("error", str(error)))
        self.page.goto(url)

    def _hear(self, kind: str, text: str) -> None:
        if kind in LOUD:
            self.complaints.append(f"{kind}: {text}")

    def words(self, key: str) -> str:
        """The sentence, up to the first value in it."""
        return self._words[key].split("{")[0].strip()

    def press(self, key: str, role: Any = "button") -> None:
        """Click what bears that sentence."""
        self.click(self.page.get_by_role(role, name=self.words(key), exact=True))

    def click(self, target: Locator) -> None:
        """One more click."""
        target.click()
        self.clicks += 1

    def sees(self, key: str, within_s: float | None = None) -> None:
        """Wait until the sentence is shown."""
        shown = self.page.get_by_text(self.words(key)).first
        shown.wait_for(timeout=None if within_s is None else within_s * 1000)

    def sign_in(self, key: str) -> None:
        """With the admin key and one click."""
        self.page.get_by_label(self.words("sign_in.key")).fill(key)
        self.press("sign_in.go")

    def faults(self) -> list[str]:
        """What is wrong with the page as it stands: reported, inaccessible, or wider than the window."""
        self.page.evaluate(AXE.read_text("utf-8") + ";0")  # past the page's policy, which allows no foreign script
        found = self.page.evaluate("axe.run().then(result => result.violations)")
        serious = [f"{one['id']}: {one['help']}" for one in found if one["impact"] in {"serious", "critical"}]
        overflow = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return self.complaints + serious + ([f"{overflow} pixels too wide"] if overflow > 0 else [])
