"""What the platform answers, as values. Fields it adds later are ignored."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Answer(BaseModel):
    """Frozen."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Failure(Answer):
    """Why something ended badly."""

    code: str
    sentence: str


class Publication(Answer):
    """Whether a version was published when it was made, and the reason in words."""

    published: bool
    reason: str


class Dataset(Answer):
    """A data set."""

    id: str
    name: str
    task: str
    auto_train: str
    status: str
    last_version: int | None = None
    created_at: str


class Deletion(Answer):
    """Something that should be deleted; `failure` says why it stays."""

    id: str
    status: Literal["requested", "done", "refused"]
    failure: Failure | None = None


class Import(Answer):
    """An uploaded archive on its way to becoming a version."""

    id: str
    dataset_id: str
    file_name: str
    sha256: str | None = None
    size: int | None = None
    status: Literal["requested", "accepted", "ingested", "rejected"]
    version: int | None = None
    failure: Failure | None = None


class UploadPart(Answer):
    """A part that arrived; numbers begin at 1."""

    number: int
    size: int


class Upload(Answer):
    """A file on its way to the platform, in `part_count` parts of `part_size` bytes, the last one shorter."""

    id: str
    dataset_id: str
    file_name: str
    size: int
    part_size: int
    part_count: int
    status: Literal["open", "completed"]
    import_id: str | None = None
    parts: list[UploadPart] = []

    def length_of(self, number: int) -> int:
        """Bytes of that part."""
        return min(self.part_size, self.size - (number - 1) * self.part_size)

    @property
    def arrived(self) -> set[int]:
        """Numbers of the parts that are there."""
        return {part.number for part in self.parts}


class ClassCount(Answer):
    """A class and how many samples carry it."""

    id: str
    name: str
    count: int


class Finding(Answer):
    """What a check found."""

    code: str
    severity: str
    sentence: str
    remedy: str = ""
    count: int = 0
    share: float = 0.0
    examples: list[str] = []


class Rejection(Answer):
    """One file that was refused."""

    name: str
    code: str
    sentence: str


class Version(Answer):
    """A snapshot of a data set."""

    dataset_id: str
    version: int
    status: Literal["open", "ready", "rejected"]
    sample_count: int = 0
    rejected_count: int = 0
    classes: list[ClassCount] = []
    split_counts: dict[str, int] = {}
    findings: list[Finding] = []
    rejections: list[Rejection] | None = None
    failure: Failure | None = None


class Run(Answer):
    """One attempt to make a better model."""

    id: str
    dataset_id: str
    version: int
    preset: str
    trigger: str
    state: str
    model_id: str | None = None
    model_version: int | None = None
    publication: Publication | None = None
    failure: Failure | None = None
    stage_times: dict[str, str] = {}
    trace_id: str | None = None
    created_at: str
    ended_at: str | None = None

    @property
    def is_over(self) -> bool:
        """Nothing more happens to it."""
        return self.state in {"succeeded", "failed", "cancelled"}


class Event(Answer):
    """One archived event."""

    seq: int
    event_id: str
    type: str
    key: str
    run_id: str | None = None
    time: str
    data: dict[str, Any]


class Span(Answer):
    """One step of a trace."""

    name: str
    service: str
    span_id: str
    parent_span_id: str | None = None
    start: str
    duration_ms: float
    status: str = "unset"
    status_message: str = ""
    attributes: dict[str, Any] = {}
