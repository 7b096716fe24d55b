"""A database in memory, with transactions, conflicts and unique indexes like the real one.

Documents are kept as BSON, so what cannot be stored is refused and what comes back is what a server gives back:
a copy, dates aware and cut to milliseconds, tuples as lists.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

import bson
from bson.codec_options import CodecOptions

from chassis.documents.matching import matches, value_at
from chassis.documents.ports import Document, Documents, DuplicateDocument, Filter, Index
from chassis.errors import ServerUnavailable, WriteConflict

_Id = tuple[str, str]
_Content = dict[str, dict[str, bytes]]

_AWARE: CodecOptions[dict[str, Any]] = CodecOptions(tz_aware=True)


class _View:
    """Reads and writes on `self._content`: the committed state, or a transaction's own copy of it."""

    def __init__(self, content: _Content, indexes: list[Index]) -> None:
        self._content = content
        self._indexes = indexes

    async def get(self, collection: str, document_id: str) -> Document | None:
        """See Documents."""
        await self._begin()
        stored = self._content[collection].get(document_id)
        return None if stored is None else _decoded(stored)

    async def find(self, collection: str, where: Filter, *, limit: int = 0) -> list[Document]:
        """See Documents."""
        await self._begin()
        wanted = _decoded(bson.encode(where))
        documents = (_decoded(stored) for stored in self._content[collection].values())
        return list(islice((document for document in documents if matches(document, wanted)), limit or None))

    async def insert(self, collection: str, document: Document) -> None:
        """See Documents."""
        await self._begin()
        if document["_id"] in self._content[collection]:
            self._refuse(f"{collection} already holds a document with _id {document['_id']!r}")
        self._write(collection, document)

    async def put(self, collection: str, document: Document) -> None:
        """See Documents."""
        await self._begin()
        self._write(collection, document)

    async def update(
        self, collection: str, document_id: str, changes: Document, *, expected: Filter | None = None
    ) -> bool:
        """See Documents."""
        await self._begin()
        stored = self._content[collection].get(document_id)
        if stored is None:
            return False
        document = _decoded(stored)
        if not matches(document, _decoded(bson.encode(expected or {}))):
            return False
        for field, value in changes.items():
            _set(document, field, value)
        self._write(collection, document)
        return True

    async def increment(self, collection: str, document_id: str, field: str, by: int = 1) -> int:
        """See Documents."""
        await self._begin()
        stored = self._content[collection].get(document_id)
        document = {"_id": document_id} if stored is None else _decoded(stored)
        before = value_at(document, field)
        value = (before if isinstance(before, int) else 0) + by
        _set(document, field, value)
        self._write(collection, document)
        return value

    async def delete(self, collection: str, document_id: str) -> bool:
        """See Documents."""
        await self._begin()
        if document_id not in self._content[collection]:
            return False
        self._touch(collection, document_id)
        del self._content[collection][document_id]
        return True

    async def _begin(self) -> None:
        """Let others run first, as any real call would; subclasses refuse here."""
        await asyncio.sleep(0)

    def _touch(self, collection: str, document_id: str) -> None:
        """Called before each write."""
        raise NotImplementedError

    def _refuse(self, reason: str) -> None:
        raise DuplicateDocument(reason)

    def _write(self, collection: str, document: Document) -> None:
        document_id: str = document["_id"]
        stored = bson.encode(document)
        if clash := _clash(self._content, self._indexes, collection, _decoded(stored)):
            self._refuse(clash)
        self._touch(collection, document_id)
        self._content[collection][document_id] = stored


class FakeDatabase(_View):
    """Set `answering` to False and every call raises ServerUnavailable. Time-to-live indexes never expire anything."""

    def __init__(self) -> None:
        super().__init__(defaultdict(dict), [])
        self.answering = True
        self.indexes = self._indexes
        self._clock = 0
        self._written: dict[_Id, int] = {}

    async def _begin(self) -> None:
        await asyncio.sleep(0)
        await self.ping()

    def _touch(self, collection: str, document_id: str) -> None:
        self._clock += 1
        self._written[collection, document_id] = self._clock

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Documents]:
        """See Database. Of two transactions that wrote the same document the first to commit wins."""
        await self._begin()
        snapshot: _Content = defaultdict(dict, {name: dict(rows) for name, rows in self._content.items()})
        transaction = _Transaction(self, snapshot, self._clock)
        yield transaction
        await self._begin()
        transaction.commit()

    def accept(self, changes: dict[_Id, bytes | None], since: int) -> None:
        """Commit of a transaction that began at clock `since`; None deletes. Raises WriteConflict."""
        if any(self._written.get(place, 0) > since for place in changes):
            raise WriteConflict
        for (collection, _), stored in changes.items():
            if stored is not None and _clash(self._content, self._indexes, collection, _decoded(stored), changes):
                raise WriteConflict  # the other came in between; run again, the insert will say what it is
        for (collection, document_id), stored in changes.items():
            self._touch(collection, document_id)
            if stored is None:
                self._content[collection].pop(document_id, None)
            else:
                self._content[collection][document_id] = stored

    async def collections(self) -> list[str]:
        """See Database."""
        await self._begin()
        return sorted(name for name, rows in self._content.items() if rows)

    async def ensure_indexes(self, indexes: Sequence[Index]) -> None:
        """See Database."""
        await self._begin()
        self._indexes.extend(index for index in indexes if index not in self._indexes)

    async def ping(self) -> None:
        """See Database."""
        if not self.answering:
            raise ServerUnavailable("documents_unavailable", "the fake database was told not to answer")

    async def close(self) -> None:
        """See Database."""


class _Transaction(_View):
    """Works on a snapshot; after a duplicate it is dead, and every later call raises the same again."""

    def __init__(self, database: FakeDatabase, snapshot: _Content, since: int) -> None:
        super().__init__(snapshot, database.indexes)
        self._database = database
        self._since = since
        self._touched: dict[_Id, None] = {}
        self._refused: str | None = None

    def commit(self) -> None:
        """Raises WriteConflict, or DuplicateDocument when one was met and caught inside."""
        self._raise_refused()
        changes = {(name, key): self._content[name].get(key) for name, key in self._touched}
        self._database.accept(changes, self._since)

    async def _begin(self) -> None:
        await asyncio.sleep(0)
        await self._database.ping()
        self._raise_refused()

    def _touch(self, collection: str, document_id: str) -> None:
        self._touched[collection, document_id] = None

    def _refuse(self, reason: str) -> None:
        self._refused = reason
        self._raise_refused()

    def _raise_refused(self) -> None:
        if self._refused is not None:
            raise DuplicateDocument(self._refused)


def _clash(
    content: _Content,
    indexes: list[Index],
    collection: str,
    document: Document,
    leaving: dict[_Id, bytes | None] | None = None,
) -> str | None:
    """Which unique index forbids the document, if one does; documents that are `leaving` or replaced do not count."""
    for index in indexes:
        if not index.unique or index.collection != collection:
            continue
        values = [value_at(document, field) for field in index.fields]
        for other_id, stored in content[collection].items():
            if other_id == document["_id"] or (leaving and (collection, other_id) in leaving):
                continue
            other = _decoded(stored)
            if [value_at(other, field) for field in index.fields] == values:
                return f"{collection} already holds a document with {', '.join(index.fields)} = {values}"
    return None


def _decoded(stored: bytes) -> Document:
    return bson.decode(stored, _AWARE)


def _set(document: Document, field: str, value: Any) -> None:
    *parents, last = field.split(".")
    for parent in parents:
        document = document.setdefault(parent, {})
    document[last] = value
