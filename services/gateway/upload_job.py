"""The process that puts the parts of an upload together. It may run again at any point.

Result: {"archive": BlobRef}. Memory does not grow with the file: the object is hashed as it is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from chassis.blobs.ports import BlobMissing
from chassis.blobs.sessions import Part, Session, SessionGone, UploadSessions
from chassis.errors import PermanentError, ServerUnavailable
from schemas.base import BlobRef
from services.gateway.uploads import MEDIA_TYPE

PATIENCE_S = 120.0

T = TypeVar("T")


@dataclass(frozen=True)
class UploadJob:
    """An object store that is away is waited for, up to `patience_s`."""

    sessions: UploadSessions
    patience_s: float = PATIENCE_S

    def run(self, order: dict[str, Any]) -> dict[str, Any]:
        """Returns the job's result. Raises PermanentError when the parts are lost."""
        self._patiently(lambda: self._complete(order))
        ref = self._patiently(lambda: self._describe(order))
        if ref.size != order["size"]:
            sentence = f"{order['file_name']} has {ref.size} bytes of the announced {order['size']}; upload it again."
            raise PermanentError("upload_damaged", sentence)
        return {"archive": ref.model_dump(mode="json")}

    def _complete(self, order: dict[str, Any]) -> None:
        parts = [Part(**part) for part in order["parts"]]
        try:
            self.sessions.complete(Session(order["key"], order["session_id"]), parts)
        except SessionGone:  # an earlier attempt got so far, or there is no object, which is seen next
            return

    def _describe(self, order: dict[str, Any]) -> BlobRef:
        try:
            return self.sessions.describe(order["key"], MEDIA_TYPE)
        except BlobMissing as error:
            sentence = f"The parts of {order['file_name']} are gone from the object store; upload it again."
            raise PermanentError("upload_lost", sentence) from error

    def _patiently(self, call: Callable[[], T]) -> T:
        retrying = Retrying(
            retry=retry_if_exception_type(ServerUnavailable),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            stop=stop_after_delay(self.patience_s),
            reraise=True,
        )
        return retrying(call)
