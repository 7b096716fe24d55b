"""Which blobs something still needs. Pure.

A reference is any text in a document that begins like a key below `projects/`, wherever it stands, and whatever the
manifests behind such references name. Two kinds of object are named by their own keys instead: a thumbnail is needed
as long as its picture is, a pointer to features as long as its data set.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from chassis.blobs.ports import BlobEntry, content_key
from chassis.manifests import MEDIA_TYPE
from schemas.base import BlobRef

PROJECTS = "projects/"
THUMBNAIL = re.compile(r"^projects/([^/]+)/thumb/\d+/([0-9a-f]{64})$")
FEATURES = re.compile(r"^projects/[^/]+/features/([^/]+)/[^/]+$")


@dataclass
class References:
    """Keys are kept as digests of 16 bytes: there may be millions.

    `manifests` are the Parquet files that name further blobs, by key; `sessions` the ids of uploads in parts;
    `datasets` the ids of those that are not deleted.
    """

    sessions: set[str] = field(default_factory=set)
    manifests: dict[str, BlobRef] = field(default_factory=dict)
    datasets: set[str] = field(default_factory=set)
    _keys: set[bytes] = field(default_factory=set)

    def add(self, key: str) -> None:
        """Something needs the object under that key."""
        self._keys.add(_digest(key))

    def needs(self, key: str) -> bool:
        """Whether anything does."""
        if thumbnail := THUMBNAIL.match(key):
            return self.needs(content_key(thumbnail.group(1), thumbnail.group(2)))
        if features := FEATURES.match(key):
            return features.group(1) in self.datasets
        return _digest(key) in self._keys

    def note(self, value: Any) -> None:
        """Take in every reference in a document or a part of one, also in text that holds JSON, plain or as base64."""
        if isinstance(value, dict):
            self._note_mapping(value)
        elif isinstance(value, list | tuple):
            for each in value:
                self.note(each)
        elif isinstance(value, str):
            self._note_text(value)

    def _note_mapping(self, value: dict[str, Any]) -> None:
        if isinstance(session := value.get("session_id"), str):
            self.sessions.add(session)
        if value.get("media_type") == MEDIA_TYPE and "sha256" in value:
            ref = BlobRef.model_validate(value)
            self.manifests[ref.key] = ref
        for each in value.values():
            self.note(each)

    def _note_text(self, text: str) -> None:
        if text.startswith(PROJECTS):
            self.add(text)
        elif (inner := _json_in(text)) is not None:
            self.note(inner)


def orphans(entries: Iterable[BlobEntry], needed: References, now: datetime, grace: timedelta) -> Iterator[BlobEntry]:
    """What nothing needs and nobody wrote within the grace period; a reference may still be on its way to the rest."""
    for entry in entries:
        if entry.modified_at < now - grace and not needed.needs(entry.key):
            yield entry


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _json_in(text: str) -> dict[str, Any] | None:
    """The object that a text holds: events lie as JSON in the outbox, and as base64 of it among the failures."""
    if text.startswith("ey"):  # base64 of an opening brace and a quotation mark
        try:
            text = base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
