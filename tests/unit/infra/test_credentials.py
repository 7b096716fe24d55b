"""The secrets of a local stack."""

import json
import stat
from pathlib import Path

import pytest

from infra.local.credentials import ensure_credentials, make_credentials
from infra.local.errors import StackError


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    assert ensure_credentials(path) == ensure_credentials(path)


def test_only_the_owner_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    ensure_credentials(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_mode_that_somebody_widened_is_narrowed_again(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    ensure_credentials(path)
    path.chmod(0o644)
    ensure_credentials(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_keys_have_the_forms_that_their_readers_demand() -> None:
    made = make_credentials()
    assert made.admin_key.startswith("elk_")
    assert len(bytes.fromhex(made.s3_sse_kek)) == 32
    assert make_credentials() != made


@pytest.mark.parametrize("content", ["", "[]", '{"admin_key": "elk_x"}'])
def test_a_damaged_file_is_reported_and_stays_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secrets.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(StackError, match=r"secrets\.json: the file of secrets cannot be read"):
        ensure_credentials(path)
    assert path.read_text(encoding="utf-8") == content


def test_keys_that_a_later_version_added_do_not_hinder(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    made = ensure_credentials(path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**stored, "later": "x"}), encoding="utf-8")
    assert ensure_credentials(path) == made
