"""What all calls stand on."""

from typing import Any

from easyloop.answers import Deletion
from easyloop.errors import EasyLoopError
from easyloop.transport import Transport


class Calls:
    """Some of the client's methods over its transport."""

    def __init__(self, http: Transport) -> None:
        self._http = http

    def _items(self, path: str, **params: Any) -> list[dict[str, Any]]:
        answer = self._http.get(path, **params).json()
        if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
            sentence = f"{self._http.url}{path} answered no list; is it EasyLoop, and of this version?"
            raise EasyLoopError("answer_unclear", sentence)
        return list(answer["items"])

    def _delete(self, address: str) -> None:
        deletion = Deletion.model_validate(self._http.send("DELETE", address, dict).json())
        while deletion.status == "requested":
            self._http.pause()
            deletion = Deletion.model_validate(self._http.get(f"/v1/deletions/{deletion.id}").json())
        if deletion.failure is not None:
            raise EasyLoopError(deletion.failure.code, deletion.failure.sentence, 409)
