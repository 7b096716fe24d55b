"""What every event has in common: its type name, its key, and the meta data that travels in CloudEvents attributes."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PrivateAttr

Preset = Literal["fast", "balanced", "accurate"]
AutoTrain = Literal["off", "fast", "balanced", "accurate"]
Split = Literal["train", "validation", "test"]

DEFAULT_PROJECT = "prj_default"


class Value(BaseModel):
    """A part of an event. Frozen; unknown fields are ignored so that newer writers stay readable."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class BlobRef(Value):
    """Where a blob lies in the object store and what it must be.

    `sha256` is the hash of the plain content in lower-case hex, `size` its length in bytes.
    """

    key: str = Field(min_length=1)
    size: NonNegativeInt
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    media_type: str = "application/octet-stream"


@dataclass(frozen=True)
class EventMeta:
    """The CloudEvents attributes of a delivered event (CloudEvents 1.0, section Context Attributes).

    `rev` is the revision of the aggregate named by the event's key: consecutive for one key and one writer.
    """

    id: str
    source: str
    time: str
    rev: int


class Event(Value):
    """A fact (past tense) or a request. Subclasses set TYPE and, unless it is `run_id`, KEY."""

    TYPE: ClassVar[str]
    KEY: ClassVar[str] = "run_id"

    project_id: str = DEFAULT_PROJECT
    _meta: EventMeta | None = PrivateAttr(default=None)

    @property
    def key(self) -> str:
        """The id of the aggregate; events of one key keep their order."""
        return str(getattr(self, self.KEY))

    @property
    def meta(self) -> EventMeta:
        """Raises LookupError for an event that was never delivered."""
        if self._meta is None:
            raise LookupError(f"{self.TYPE} was built here, not delivered; it has no CloudEvents attributes yet")
        return self._meta

    def delivered(self, meta: EventMeta) -> "Event":
        """The same event with its attributes set; called by the decoder and by tests only."""
        copy = self.model_copy()
        copy._meta = meta
        return copy


class Failure(Value):
    """Why something ended badly: a snake_case code and a sentence that names the thing, the reason and the remedy."""

    code: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    sentence: str = Field(min_length=1)
