"""The console's files: served under a strict policy, whole, in two languages, from nowhere else."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from services.gateway.api.console import FOLDER
from tests.unit.gateway.building import Gateway

MODULES = sorted(FOLDER.glob("*.js"))
OWN = [*MODULES, *FOLDER.glob("*.css"), *FOLDER.glob("*.html")]
LITERAL = re.compile(r'\bt\(\s*"([^"]+)"')
BEGINNING = re.compile(r"\bt\(\s*`([^`$]+)\$\{")


def catalogue(language: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((FOLDER / "messages" / f"{language}.json").read_text(encoding="utf-8"))
    return found


async def test_the_page_allows_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with Gateway(tmp_path).client(None) as client:
        page = await client.get("/")
        module = await client.get("/console/main.js")
    assert page.status_code == 200
    assert module.headers["content-type"].startswith("text/javascript")
    for answer in (page, module):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_every_file_that_a_module_or_the_page_names_is_served(tmp_path: Path) -> None:
    named = {path for file in OWN for path in re.findall(r'"(/console/[\w./-]+)"', file.read_text(encoding="utf-8"))}
    named |= {f"/console/{name}" for file in MODULES for name in re.findall(r'from "\./([\w.]+)"', file.read_text())}
    assert len(named) > 20
    async with Gateway(tmp_path).client(None) as client:
        for path in named:
            assert (await client.get(path)).status_code == 200, path


def test_no_file_of_ours_names_another_origin() -> None:
    for file in OWN:
        assert not re.search(r"https?://", file.read_text(encoding="utf-8")), file.name


def test_vendored_packages_are_listed_with_their_licences() -> None:
    vendor = FOLDER / "vendor"
    listed = json.loads((vendor / "versions.json").read_text())
    files = {file for package in listed.values() for file in package["files"]}
    assert files == {path.relative_to(vendor).as_posix() for path in vendor.rglob("*.mjs")}
    for name in listed:
        assert (vendor / name / "LICENSE").stat().st_size > 500


def test_both_languages_say_the_same_things() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert english.keys() == chinese.keys()
    for key, sentence in english.items():
        assert set(re.findall(r"\{\w+\}", sentence)) == set(re.findall(r"\{\w+\}", chinese[key])), key


def test_every_sentence_is_there_and_used() -> None:
    source = "\n".join(file.read_text(encoding="utf-8") for file in MODULES)
    literal, beginnings = set(LITERAL.findall(source)), tuple(BEGINNING.findall(source))
    keys = catalogue("en").keys()
    assert literal <= keys
    assert {key for key in keys - literal if not key.startswith(beginnings)} == set()
    assert all(any(key.startswith(beginning) for key in keys) for beginning in beginnings)


@pytest.mark.skipif(
    shutil.which("node") is None, reason="node is not needed to use or build anything; it checks syntax"
)
@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_every_module_is_valid(module: Path) -> None:
    checked = subprocess.run(
        ["node", "--input-type=module", "--check"], input=module.read_bytes(), capture_output=True, check=False
    )
    assert checked.returncode == 0, checked.stderr.decode()
