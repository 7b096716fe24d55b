"""Models, their versions, and predictions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from easyloop.calls.base import Calls
from easyloop.errors import EasyLoopError
from easyloop.model_answers import FilePrediction, Model, ModelVersion, Predictions

BATCH_FILES = 16

File = Path | tuple[str, bytes]
"""A file on disk, or a name and its content."""


class ModelCalls(Calls):
    """Look, delete, predict."""

    def models(self, dataset_id: str | None = None) -> list[Model]:
        """Newest first."""
        return [Model.model_validate(item) for item in self._items("/v1/models", dataset_id=dataset_id)]

    def model(self, model_id: str) -> Model:
        """One model."""
        return Model.model_validate(self._http.get(f"/v1/models/{model_id}").json())

    def model_versions(self, model_id: str) -> list[ModelVersion]:
        """Newest first."""
        return [ModelVersion.model_validate(item) for item in self._items(f"/v1/models/{model_id}/versions")]

    def report(self, model_id: str, version: int) -> dict[str, Any]:
        """The evaluation report, as its task type documents it."""
        report: dict[str, Any] = self._http.get(f"/v1/models/{model_id}/versions/{version}/report").json()
        return report

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


def _named(file: File) -> tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    try:
        return file.name, file.read_bytes()
    except OSError as error:
        raise EasyLoopError("file_unreadable", f"{file} cannot be read: {error.strerror}.") from error
