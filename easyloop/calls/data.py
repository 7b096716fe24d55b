"""Data sets, uploads and versions."""

from pathlib import Path

from easyloop.answers import Dataset, Import, Version
from easyloop.calls.base import Calls
from easyloop.errors import EasyLoopError
from easyloop.transport import Transport
from easyloop.uploading import Sent, Uploads, is_large


class DataCalls(Calls):
    """`uploads` sends in steps, so that an upload can be gone on with after this process ended."""

    def __init__(self, http: Transport) -> None:
        super().__init__(http)
        self.uploads = Uploads(http)

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
