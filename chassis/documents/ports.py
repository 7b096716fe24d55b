"""The document store as the services see it: few operations, each cheap on any server (see the notes on queries).

A `Filter` maps a field to a value (equality) or to one of `{"$in": [...]}`, `{"$lt"|"$lte"|"$gt"|"$gte": value}`
(the range operators may be combined). Field names may be dotted. Every filter used in production needs an index.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

Document = dict[str, Any]
Filter = Mapping[str, Any]


class DuplicateDocument(Exception):
    """A document with this `_id`, or with this value of a unique index, exists."""


@dataclass(frozen=True)
class Index:
    """An index over `fields`, in order; `expire_after_s` makes it a time-to-live index on one date field."""

    collection: str
    fields: tuple[str, ...]
    unique: bool = False
    expire_after_s: int | None = None


class Documents(Protocol):
    """Reads and writes, inside or outside a transaction. Raises ServerUnavailable when the server does not answer."""

    async def get(self, collection: str, document_id: str) -> Document | None:
        """The document with that `_id`."""

    async def find(self, collection: str, where: Filter, *, limit: int = 0) -> list[Document]:
        """All documents that match, in no particular order; at most `limit` when it is not 0."""

    async def insert(self, collection: str, document: Document) -> None:
        """Raises DuplicateDocument."""

    async def put(self, collection: str, document: Document) -> None:
        """Insert or replace by `_id`."""

    async def update(
        self, collection: str, document_id: str, changes: Document, *, expected: Filter | None = None
    ) -> bool:
        """Compare and set: give the fields of `changes` their values if the document is there and matches `expected`.

        Whether it did. Field names may be dotted.
        """

    async def increment(self, collection: str, document_id: str, field: str, by: int = 1) -> int:
        """Add to a counter, made at 0 if absent; the new value. Exact only inside a transaction."""

    async def delete(self, collection: str, document_id: str) -> bool:
        """Whether it was there."""


class Database(Documents, Protocol):
    """One service's database."""

    def transaction(self) -> AbstractAsyncContextManager[Documents]:
        """All or nothing, isolated; commits on a clean exit. Raises WriteConflict when it must run again.

        A DuplicateDocument ends the transaction: when it is caught inside, the next call raises again, and so does the
        commit. Look with `get` first where being there is no error.
        """

    async def collections(self) -> list[str]:
        """The names of those that hold something, and perhaps of empty ones; sorted."""

    async def ensure_indexes(self, indexes: Sequence[Index]) -> None:
        """Idempotent."""

    async def ping(self) -> None:
        """Raises ServerUnavailable."""

    async def close(self) -> None:
        """Release the connections."""
