"""Sending files: whole in one request, or in parts that are gone on with wherever it broke off."""

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from easyloop.answers import Import, Upload
from easyloop.errors import EasyLoopError
from easyloop.transport import Transport

READ_BYTES = 1 << 20
WHOLE_BYTES = 64_000_000
"""A file up to this size is sent in one request: sending it again costs less than counting its parts."""

Sent = Callable[[int], None]
"""Called with the bytes sent so far."""


class Uploads:
    """Every method raises EasyLoopError."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def send_whole(self, dataset_id: str, archive: Path, sent: Sent, label: str | None = None) -> Import:
        """In one request. What broke off begins anew."""
        size = size_of(archive)

        def arguments() -> dict[str, Any]:
            headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
            params = {"file_name": archive.name, **({"label": label} if label else {})}
            return {"content": _chunks(archive, sent), "headers": headers, "params": params}

        return Import.model_validate(self._http.post(f"/v1/datasets/{dataset_id}/imports", arguments).json())

    def begin(self, dataset_id: str, archive: Path, label: str | None = None) -> Upload:
        """An upload in parts. Keep its id to go on with it later."""
        body = {"file_name": archive.name, "size": size_of(archive), "label": label}
        answer = self._http.post(f"/v1/datasets/{dataset_id}/uploads", lambda: {"json": body})
        return Upload.model_validate(answer.json())

    def get(self, upload_id: str) -> Upload:
        """With the parts that arrived."""
        return Upload.model_validate(self._http.get(f"/v1/uploads/{upload_id}").json())

    def abort(self, upload_id: str) -> None:
        """Give it up with the parts that arrived."""
        self._http.send("DELETE", f"/v1/uploads/{upload_id}", dict)

    def send_parts(self, upload: Upload, archive: Path, sent: Sent) -> Import:
        """Send the parts that have not arrived, and complete it. `archive` must be the file that it was begun for."""
        if upload.status == "open":
            self._send_missing(upload, archive, sent)
        answer = self._http.patiently("POST", f"/v1/uploads/{upload.id}/complete", dict)
        return Import.model_validate(answer.json())

    def _send_missing(self, upload: Upload, archive: Path, sent: Sent) -> None:
        done = sum(upload.length_of(number) for number in upload.arrived)
        sent(done)
        with archive.open("rb") as file:
            for number in sorted(set(range(1, upload.part_count + 1)) - upload.arrived):
                file.seek((number - 1) * upload.part_size)
                content = file.read(upload.length_of(number))
                self.send_part(upload, number, content, _counted(sent, done))
                done += len(content)

    def send_part(self, upload: Upload, number: int, content: bytes, sent: Sent) -> None:
        """One part, again and again while the line or the platform fails; the platform checks its hash."""
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(len(content)),
            "Content-Digest": f"sha-256=:{digest}:",
        }

        def arguments() -> dict[str, Any]:
            return {"content": _pieces(content, sent), "headers": headers}

        self._http.patiently("PUT", f"/v1/uploads/{upload.id}/parts/{number}", arguments)


def is_large(archive: Path) -> bool:
    """Whether it is better sent in parts. Raises EasyLoopError for what is no file."""
    return size_of(archive) > WHOLE_BYTES


def size_of(archive: Path) -> int:
    """Bytes of a file. Raises EasyLoopError for what is none."""
    if archive.is_dir():
        raise EasyLoopError("not_a_file", f"{archive} is a folder; zip it first, with one folder of files a class.")
    try:
        return archive.stat().st_size
    except OSError as error:
        raise EasyLoopError("file_unreadable", f"{archive} cannot be read: {error.strerror}.") from error


def _counted(sent: Sent, before: int) -> Sent:
    return lambda done: sent(before + done)


def _chunks(archive: Path, sent: Sent) -> Iterator[bytes]:
    done = 0
    with archive.open("rb") as content:
        while chunk := content.read(READ_BYTES):
            yield chunk
            done += len(chunk)
            sent(done)


def _pieces(content: bytes, sent: Sent) -> Iterator[bytes]:
    for start in range(0, len(content), READ_BYTES):
        piece = content[start : start + READ_BYTES]
        yield piece
        sent(start + len(piece))
