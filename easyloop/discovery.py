"""Finds the platform: the one that the environment names, otherwise the local one below the data folder."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from easyloop.errors import EasyLoopError

URL, KEY, ADMIN_KEY, DATA_DIR = "EASYLOOP_URL", "EASYLOOP_API_KEY", "EASYLOOP_ADMIN_KEY", "EASYLOOP_DATA_DIR"
START = "start it with 'make up'"


@dataclass(frozen=True)
class Platform:
    """Where it answers, and the key it wants."""

    url: str
    key: str = field(repr=False)


def find_platform(environment: Mapping[str, str] = os.environ) -> Platform:
    """EASYLOOP_URL and EASYLOOP_API_KEY beat the local stack. Raises EasyLoopError with what to do."""
    key = environment.get(KEY) or environment.get(ADMIN_KEY)
    if (url := environment.get(URL)) and not _is_address(url):
        raise EasyLoopError("url_invalid", f"{URL}={url} is no address; give it as http://host:port.")
    if url and key:
        return Platform(url.rstrip("/"), key)
    stack_file = stack_file_of(environment)
    stack = _read(stack_file)
    if stack is None:
        sentence = f"No EasyLoop is running here ({stack_file} is not there); {START}, or set {URL} and {KEY}."
        raise EasyLoopError("platform_unknown", sentence)
    if not isinstance(stack.get("gateway_url"), str):
        raise EasyLoopError("platform_unknown", f"{stack_file} does not say where the platform is; {START} again.")
    return Platform((url or stack["gateway_url"]).rstrip("/"), key or _local_key(stack))


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that do not close, a port that is no number
        return False


def stack_file_of(environment: Mapping[str, str] = os.environ) -> Path:
    """What the local stack writes while it is up."""
    return Path(environment.get(DATA_DIR) or ".easyloop") / "run" / "stack.json"


def local_stack(environment: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
    """The addresses of the local stack; None when it is not up. Raises EasyLoopError for a damaged file."""
    return _read(stack_file_of(environment))


def _local_key(stack: Mapping[str, Any]) -> str:
    place = Path(stack.get("admin_key_file") or stack.get("secrets") or "secrets.json")
    secrets = _read(place)
    if secrets is None or "admin_key" not in secrets:
        raise EasyLoopError("key_unknown", f"{place} holds no admin_key; set {KEY}.")
    return str(secrets["admin_key"])


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EasyLoopError("file_unreadable", f"{path} cannot be read ({error}); restart the platform.") from error
    return content if isinstance(content, dict) else None
