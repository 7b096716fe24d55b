"""Documents as typed, frozen records."""

from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from chassis.documents.ports import Document, Documents, Filter
from schemas.base import DEFAULT_PROJECT


class StoredRecord(BaseModel):
    """One document of a collection; `id` is stored as `_id`."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    COLLECTION: ClassVar[str]

    id: str
    project_id: str = DEFAULT_PROJECT

    def changed(self, **changes: Any) -> Self:
        """A validated copy with other values in some fields."""
        return type(self).model_validate(self.model_dump() | changes)

    def to_document(self) -> Document:
        """Plain values that Mongo and JSON both hold; times as RFC 3339 text."""
        document = self.model_dump(mode="json")
        return {"_id": document.pop("id"), **document}

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """The inverse of `to_document`."""
        return cls.model_validate({"id": document["_id"], **document})


R = TypeVar("R", bound=StoredRecord)


class Repository(Generic[R]):
    """The records of one kind, inside or outside a transaction."""

    def __init__(self, documents: Documents, model: type[R]) -> None:
        self._documents = documents
        self._model = model

    async def get(self, record_id: str) -> R | None:
        """None when there is none."""
        document = await self._documents.get(self._model.COLLECTION, record_id)
        return None if document is None else self._model.from_document(document)

    async def find(self, where: Filter, *, limit: int = 0) -> list[R]:
        """In no particular order."""
        return [
            self._model.from_document(d) for d in await self._documents.find(self._model.COLLECTION, where, limit=limit)
        ]

    async def add(self, record: R) -> None:
        """Raises DuplicateDocument."""
        await self._documents.insert(self._model.COLLECTION, record.to_document())

    async def save(self, record: R) -> None:
        """Insert or replace. Two transactions that save one record conflict, and one of them runs again."""
        await self._documents.put(self._model.COLLECTION, record.to_document())

    async def delete(self, record_id: str) -> bool:
        """Whether it was there."""
        return await self._documents.delete(self._model.COLLECTION, record_id)
