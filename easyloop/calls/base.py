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
        items: list[dict[str, Any]] = self._http.get(path, **params).json()["items"]
        return items

    def _delete(self, address: str) -> None:
        deletion = Deletion.model_validate(self._http.send("DELETE", address, dict).json())
        while deletion.status == "requested":
            self._http.pause()
            deletion = Deletion.model_validate(self._http.get(f"/v1/deletions/{deletion.id}").json())
        if deletion.failure is not None:
            raise EasyLoopError(deletion.failure.code, deletion.failure.sentence, 409)
