"""What the command line remembers of uploads in parts, so that one that was broken off is gone on with.

One small file an upload, in the user's own folder for settings of programs. It is found again by what was asked for and
by the file's place, size and time of change: a file that was changed meanwhile begins anew.
"""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import typer

from easyloop.answers import Import, Upload
from easyloop.client import Client
from easyloop.errors import EasyLoopError
from easyloop.uploading import Sent, is_large


@dataclass(frozen=True)
class Asked:
    """One call of `data upload`: to which platform, which file, for which data set (its id, or the new one's name)."""

    url: str
    archive: Path
    dataset: str
    label: str | None

    @property
    def digest(self) -> str:
        """The same for the same call on an unchanged file."""
        stat = self.archive.stat()
        place = str(self.archive.resolve())
        text = json.dumps([self.url, place, stat.st_size, stat.st_mtime_ns, self.dataset, self.label])
        return hashlib.sha256(text.encode()).hexdigest()


class Memory:
    """The uploads begun from this user's account."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of_user(cls) -> "Memory":
        """Where the system wants such files."""
        return cls(Path(typer.get_app_dir("easyloop")) / "uploads")

    def find(self, asked: Asked) -> str | None:
        """The id of the upload begun for it."""
        try:
            content = json.loads(self._place(asked).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        found = content.get("upload_id") if isinstance(content, dict) else None
        return found if isinstance(found, str) else None

    def keep(self, asked: Asked, upload_id: str) -> None:
        """Whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {"upload_id": upload_id, "archive": str(asked.archive), "url": asked.url}
        with tempfile.NamedTemporaryFile("w", dir=self._folder, delete=False, encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(file.name, self._place(asked))

    def forget(self, asked: Asked) -> None:
        """It is over."""
        self._place(asked).unlink(missing_ok=True)

    def _place(self, asked: Asked) -> Path:
        return self._folder / f"{asked.digest}.json"


class Sending:
    """One call of `data upload`: it goes on with what an earlier one began."""

    def __init__(self, client: Client, memory: Memory, asked: Asked) -> None:
        self._client = client
        self._uploads = client.uploads
        self._memory = memory
        self._asked = asked
        self.begun = self._find()

    def send(self, dataset_id: str, sent: Sent) -> Import:
        """What is missing of a large file; a small one whole. Raises EasyLoopError."""
        asked = self._asked
        if self.begun is None and not is_large(asked.archive):
            return self._uploads.send_whole(dataset_id, asked.archive, sent, asked.label)
        if self.begun is None:
            self.begun = self._uploads.begin(dataset_id, asked.archive, asked.label)
            self._memory.keep(asked, self.begun.id)
        imported = self._uploads.send_parts(self.begun, asked.archive, sent)
        self._memory.forget(asked)
        return imported

    def _find(self) -> Upload | None:
        """The upload of an earlier call; None when there was none, or it or its data set is gone."""
        if (upload_id := self._memory.find(self._asked)) is None:
            return None
        try:
            upload = self._uploads.get(upload_id)
            self._client.dataset(upload.dataset_id)
        except EasyLoopError as error:
            if error.status not in (404, 409):
                raise
            self._memory.forget(self._asked)
            return None
        return upload
