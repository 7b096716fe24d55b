"""The Python client: upload, train, watch, publish, predict.

with connect() as loop:
    dataset = loop.create_dataset("fruit")
    loop.upload(dataset.id, Path("fruit.zip"))
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from easyloop.answers import (
    Alias,
    Dataset,
    Deletion,
    Event,
    FilePrediction,
    Import,
    Model,
    ModelVersion,
    Predictions,
    Run,
    Span,
    Version,
)
from easyloop.discovery import Platform, find_platform
from easyloop.errors import EasyLoopError
from easyloop.sse import data_of
from easyloop.transport import ATTEMPTS, Transport
from easyloop.uploading import Sent, Uploads, is_large

BATCH_FILES = 16

File = Path | tuple[str, bytes]
"""A file on disk, or a name and its content."""


def connect() -> "Client":
    """A client of the platform that the environment or the current folder names. Raises EasyLoopError."""
    return Client(find_platform())


class Client:
    """Every method raises EasyLoopError, whose sentence says what to do. `transport` replaces the network in tests."""

    def __init__(self, platform: Platform, transport: httpx.BaseTransport | None = None) -> None:
        self._http = Transport(platform, transport)
        self.uploads = Uploads(self._http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where the platform answers."""
        return self._http.url

    def close(self) -> None:
        """Idempotent."""
        self._http.close()

    def pause(self) -> None:
        """Between two looks at something that is being waited for."""
        self._http.pause()

    def create_dataset(self, name: str, *, task: str = "image_classification", auto_train: str = "fast") -> Dataset:
        """A new data set; `auto_train` is off, fast, balanced or accurate."""
        body = {"name": name, "task": task, "auto_train": auto_train}
        return Dataset.model_validate(self._http.post("/v1/datasets", lambda: {"json": body}).json())

    def datasets(self) -> list[Dataset]:
        """Newest first."""
        return [Dataset.model_validate(item) for item in self._items("/v1/datasets")]

    def dataset(self, dataset_id: str) -> Dataset:
        """One data set."""
        return Dataset.model_validate(self._http.get(f"/v1/datasets/{dataset_id}").json())

    def delete_dataset(self, dataset_id: str, version: int | None = None) -> None:
        """Delete it, or one version, and wait until that is done. Raises EasyLoopError where it has to stay."""
        self._delete(f"/v1/datasets/{dataset_id}" + ("" if version is None else f"/versions/{version}"))

    def upload(
        self, dataset_id: str, archive: Path, sent: Sent = lambda _: None, *, label: str | None = None
    ) -> Import:
        """Send a zip, a tar or a single file with its `label` from disk, in constant memory; a large one in parts.

        `uploads` does the same in steps, so that an upload can be gone on with after this process ended.
        """
        if not is_large(archive):
            return self.uploads.send_whole(dataset_id, archive, sent, label)
        return self.uploads.send_parts(self.uploads.begin(dataset_id, archive, label), archive, sent)

    def imported(self, dataset_id: str, import_id: str) -> Import:
        """One import."""
        return Import.model_validate(self._http.get(f"/v1/datasets/{dataset_id}/imports/{import_id}").json())

    def versions(self, dataset_id: str) -> list[Version]:
        """Newest first."""
        return [Version.model_validate(item) for item in self._items(f"/v1/datasets/{dataset_id}/versions")]

    def version(self, dataset_id: str, version: int) -> Version:
        """One version, with its refused files."""
        return Version.model_validate(self._http.get(f"/v1/datasets/{dataset_id}/versions/{version}").json())

    def wait_for_version(self, dataset_id: str, import_id: str) -> Version:
        """The version that the import became, once it is ready. Raises EasyLoopError when it was rejected."""
        number = self._wait_for_number(dataset_id, import_id)
        while (version := self.version(dataset_id, number)).status == "open":
            self._http.pause()
        if version.status == "rejected":
            failure = version.failure
            raise EasyLoopError(
                failure.code if failure else "version_rejected",
                failure.sentence if failure else f"Version {number} of {dataset_id} was rejected.",
            )
        return version

    def start_run(self, dataset_id: str, *, version: int | None = None, preset: str = "fast") -> Run:
        """Train; without a version on the newest usable one."""
        body = {"dataset_id": dataset_id, "version": version, "preset": preset}
        return Run.model_validate(self._http.post("/v1/runs", lambda: {"json": body}).json())

    def runs(self, dataset_id: str | None = None) -> list[Run]:
        """Newest first."""
        return [Run.model_validate(item) for item in self._items("/v1/runs", dataset_id=dataset_id)]

    def run(self, run_id: str) -> Run:
        """One run."""
        return Run.model_validate(self._http.get(f"/v1/runs/{run_id}").json())

    def automatic_run(self, dataset_id: str, version: int) -> Run:
        """The run that a ready version starts by itself, once it is there; ask only where auto_train is not off."""
        while True:
            for run in self.runs(dataset_id):
                if run.version == version and run.trigger == "auto":
                    return run
            self._http.pause()

    def cancel_run(self, run_id: str) -> Run:
        """Idempotent."""
        return Run.model_validate(self._http.post(f"/v1/runs/{run_id}/cancel", dict).json())

    def wait_for_run(self, run_id: str) -> Run:
        """The run once it is over, however it ended."""
        for _ in self.run_events(run_id):
            pass
        while not (run := self.run(run_id)).is_over:
            self._http.pause()
        return run

    def run_events(self, run_id: str, after: int = 0) -> Iterator[Event]:
        """All events of the run, as they come, until it is over."""
        return self._follow(f"/v1/runs/{run_id}/events", after, {})

    def events(self, after: int = 0, types: Sequence[str] = ()) -> Iterator[Event]:
        """All events, as they come, without end."""
        params = {"types": ",".join(types)} if types else {}
        while True:
            for event in self._follow("/v1/events", after, params):
                after = event.seq
                yield event
            self._http.pause()

    def newest_event(self) -> int:
        """The sequence number of the newest archived event."""
        return int(self._http.get("/v1/events", limit=1).json()["head"])

    def trace(self, run_id: str) -> list[Span]:
        """The spans of the run's trace, by start time."""
        return [Span.model_validate(span) for span in self._http.get(f"/v1/runs/{run_id}/trace").json()["spans"]]

    def models(self, dataset_id: str | None = None) -> list[Model]:
        """Newest first."""
        return [Model.model_validate(item) for item in self._items("/v1/models", dataset_id=dataset_id)]

    def model(self, model_id: str) -> Model:
        """One model."""
        return Model.model_validate(self._http.get(f"/v1/models/{model_id}").json())

    def model_versions(self, model_id: str) -> list[ModelVersion]:
        """Newest first."""
        return [ModelVersion.model_validate(item) for item in self._items(f"/v1/models/{model_id}/versions")]

    def aliases(self, model_id: str) -> list[Alias]:
        """Which names point at which version."""
        return [Alias.model_validate(item) for item in self._items(f"/v1/models/{model_id}/aliases")]

    def wait_until_served(self, model_id: str, version: int, alias: str = "production") -> None:
        """Until the gateway answers from that version."""
        while not any(one.alias == alias and one.serving_version == version for one in self.aliases(model_id)):
            self._http.pause()

    def report(self, model_id: str, version: int) -> dict[str, Any]:
        """The evaluation report, as its task type documents it."""
        report: dict[str, Any] = self._http.get(f"/v1/models/{model_id}/versions/{version}/report").json()
        return report

    def publish(self, model_id: str, version: int, *, alias: str = "production", reason: str = "") -> None:
        """Ask for the alias to name that version; gateways follow within seconds."""
        body = {"version": version, "reason": reason}
        self._http.send("PUT", f"/v1/models/{model_id}/aliases/{alias}", lambda: {"json": body})

    def delete_model(self, model_id: str, version: int | None = None) -> None:
        """As `delete_dataset`."""
        self._delete(f"/v1/models/{model_id}" + ("" if version is None else f"/versions/{version}"))

    def predict(self, model_id: str, files: Sequence[File], *, top: int = 5, alias: str = "production") -> Predictions:
        """One request for all files (the platform takes 64); see `predict_many` for more."""
        parts = [("file", (*_named(file), "application/octet-stream")) for file in files]
        params = {"top": top, "alias": alias}
        path = f"/v1/models/{model_id}/predict"
        return Predictions.model_validate(self._http.post(path, lambda: {"files": parts, "params": params}).json())

    def predict_many(
        self, model_id: str, files: Sequence[File], *, top: int = 1, alias: str = "production", batch: int = BATCH_FILES
    ) -> Iterator[FilePrediction]:
        """One entry a file, in order, asked for in batches."""
        for start in range(0, len(files), batch):
            answer = self.predict(model_id, files[start : start + batch], top=top, alias=alias)
            yield from answer.predictions

    def _delete(self, address: str) -> None:
        deletion = Deletion.model_validate(self._http.send("DELETE", address, dict).json())
        while deletion.status == "requested":
            self._http.pause()
            deletion = Deletion.model_validate(self._http.get(f"/v1/deletions/{deletion.id}").json())
        if deletion.failure is not None:
            raise EasyLoopError(deletion.failure.code, deletion.failure.sentence, 409)

    def _items(self, path: str, **params: Any) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._http.get(path, **params).json()["items"]
        return items

    def _wait_for_number(self, dataset_id: str, import_id: str) -> int:
        while True:
            found = self.imported(dataset_id, import_id)
            if found.status == "rejected":
                failure = found.failure
                raise EasyLoopError(
                    failure.code if failure else "import_rejected",
                    failure.sentence if failure else f"{found.file_name} was rejected.",
                )
            if found.version is not None:
                return found.version
            self._http.pause()

    def _follow(self, path: str, after: int, params: dict[str, str]) -> Iterator[Event]:
        broken = 0
        while True:
            try:
                headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
                with self._http.lines(path, headers, params) as lines:
                    for data in data_of(lines):
                        event = Event.model_validate(json.loads(data))
                        after, broken = event.seq, 0
                        yield event
                return
            except httpx.TransportError as error:
                broken += 1
                if broken >= ATTEMPTS:
                    raise self._http.unreachable(error) from error
                self._http.pause()


def _named(file: File) -> tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    try:
        return file.name, file.read_bytes()
    except OSError as error:
        raise EasyLoopError("file_unreadable", f"{file} cannot be read: {error.strerror}.") from error
