"""The document store over MongoDB's protocol (pymongo's own asyncio client).

Keeps to what is cheap on every such server: updates are by `_id` with equality beside it, no find-and-modify, no
retryable writes, no sorting.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import PyMongoError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from chassis.documents.mongo_errors import translated
from chassis.documents.ports import Document, Documents, DuplicateDocument, Filter, Index
from chassis.errors import WriteConflict

Client = AsyncMongoClient[Document]

T = TypeVar("T")

SERVER_SELECTION_MS = 5_000
SOCKET_MS = 30_000
CONFLICT_RETRY_S = 5.0


def connect(uri: str, *, server_selection_ms: int = SERVER_SELECTION_MS) -> Client:
    """A client with short timeouts and aware dates. It connects at its first call; belongs to one event loop."""
    return AsyncMongoClient(
        uri,
        tz_aware=True,
        retryWrites=False,
        serverSelectionTimeoutMS=server_selection_ms,
        connectTimeoutMS=server_selection_ms,
        socketTimeoutMS=SOCKET_MS,
    )


class _Operations:
    """The operations of the port, on a session when there is one."""

    def __init__(self, database: AsyncDatabase[Document], session: AsyncClientSession | None) -> None:
        self._database = database
        self._session = session

    async def get(self, collection: str, document_id: str) -> Document | None:
        """See Documents."""
        rows = self._database[collection]
        return await self._call(lambda: rows.find_one({"_id": document_id}, session=self._session))

    async def find(self, collection: str, where: Filter, *, limit: int = 0) -> list[Document]:
        """See Documents."""
        rows = self._database[collection]
        return await self._call(lambda: rows.find(where, limit=limit, session=self._session).to_list())

    async def insert(self, collection: str, document: Document) -> None:
        """See Documents."""
        rows = self._database[collection]
        await self._call(lambda: rows.insert_one(document, session=self._session))

    async def put(self, collection: str, document: Document) -> None:
        """See Documents."""
        rows, where = self._database[collection], {"_id": document["_id"]}
        await self._call(lambda: rows.replace_one(where, document, upsert=True, session=self._session))

    async def update(
        self, collection: str, document_id: str, changes: Document, *, expected: Filter | None = None
    ) -> bool:
        """See Documents."""
        rows, where = self._database[collection], {**(expected or {}), "_id": document_id}
        result = await self._call(lambda: rows.update_one(where, {"$set": changes}, session=self._session))
        return result.matched_count == 1

    async def increment(self, collection: str, document_id: str, field: str, by: int = 1) -> int:
        """See Documents. Two calls: find-and-modify scans the whole collection on some servers."""
        rows, where = self._database[collection], {"_id": document_id}
        await self._call(lambda: rows.update_one(where, {"$inc": {field: by}}, upsert=True, session=self._session))
        found = await self._call(lambda: rows.find_one(where, {field: 1}, session=self._session))
        value: Any = found
        for part in field.split("."):
            value = (value or {}).get(part)  # None only outside a transaction, when somebody deleted it meanwhile
        return int(value or 0)

    async def delete(self, collection: str, document_id: str) -> bool:
        """See Documents."""
        rows = self._database[collection]
        result = await self._call(lambda: rows.delete_one({"_id": document_id}, session=self._session))
        return result.deleted_count == 1

    async def _call(self, operation: Callable[[], Awaitable[T]]) -> T:
        raise NotImplementedError


class MongoDatabase(_Operations):
    """One service's database. A plain write that meets a transaction waits for it, as MongoDB itself does."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__(client[name], None)
        self._client = client

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Documents]:
        """See Database. An interrupted block is aborted; the server drops it in any case when it hears no more."""
        async with self._client.start_session() as session:
            with translated():
                await session.start_transaction()
            transaction = _Transaction(self._database, session)
            try:
                yield transaction
                transaction.raise_ended()
                with translated():
                    await session.commit_transaction()
            finally:
                if session.in_transaction:
                    with suppress(PyMongoError):  # what went wrong is on its way up; the server aborts by itself
                        await session.abort_transaction()

    async def collections(self) -> list[str]:
        """See Database. Servers count some that are empty too."""
        return sorted(await self._call(self._database.list_collection_names))

    async def ensure_indexes(self, indexes: Sequence[Index]) -> None:
        """See Database."""
        for index in indexes:
            keys = [(field, 1) for field in index.fields]
            options: dict[str, Any] = {"unique": True} if index.unique else {}
            if index.expire_after_s is not None:
                options["expireAfterSeconds"] = index.expire_after_s
            with translated():
                await self._database[index.collection].create_index(keys, **options)

    async def ping(self) -> None:
        """See Database."""
        with translated():
            await self._client.admin.command("ping")

    async def close(self) -> None:
        """See Database. Closes the client, also for others who share it."""
        await self._client.close()

    async def _call(self, operation: Callable[[], Awaitable[T]]) -> T:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(WriteConflict),
            stop=stop_after_delay(CONFLICT_RETRY_S),
            wait=wait_random_exponential(multiplier=0.005, max=0.2),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt, translated():
                return await operation()
        raise WriteConflict


class _Transaction(_Operations):
    """After a duplicate or a conflict the transaction is over: every later call raises the same again."""

    def __init__(self, database: AsyncDatabase[Document], session: AsyncClientSession) -> None:
        super().__init__(database, session)
        self._ended: DuplicateDocument | WriteConflict | None = None

    def raise_ended(self) -> None:
        """Raises what ended the transaction, if anything did."""
        if self._ended is not None:
            raise self._ended

    async def _call(self, operation: Callable[[], Awaitable[T]]) -> T:
        self.raise_ended()
        try:
            with translated():
                return await operation()
        except (DuplicateDocument, WriteConflict) as error:
            self._ended = error
            raise
