"""Looking after the platform itself."""

from easyloop.calls.base import Calls
from easyloop.operation_answers import DeadLetter, DeadLetterDetail, Doctor

REPLAY_LOOKS = 120
"""Pauses after which a replayed event that is still being tried is no longer waited for."""


class OperationCalls(Calls):
    """For whoever runs the platform. `actor` is who asks, for the log."""

    def doctor(self) -> Doctor:
        """What is wrong, and what to do."""
        return Doctor.model_validate(self._http.get("/v1/doctor").json())

    def dead_letters(self, service: str | None = None, limit: int = 1000) -> list[DeadLetter]:
        """Events that services gave up on, newest first."""
        items = self._items("/v1/deadletters", service=service, limit=limit)
        return [DeadLetter.model_validate(item) for item in items]

    def dead_letter(self, failure_id: str) -> DeadLetterDetail:
        """One, with its event; also after a replay."""
        return DeadLetterDetail.model_validate(self._http.get(f"/v1/deadletters/{failure_id}").json())

    def replay(self, failure_id: str, *, actor: str = "admin") -> None:
        """Ask the service to try again. Raises EasyLoopError where nothing would come of it."""
        self._http.post(f"/v1/deadletters/{failure_id}/replay", lambda: {"json": {"actor": actor}})

    def wait_for_replay(self, letter: DeadLetter) -> DeadLetterDetail:
        """The letter once it is handled, or dead again; as it stands where that takes long."""
        for _ in range(REPLAY_LOOKS):
            found = self.dead_letter(letter.id)
            if found.status == "done" or (found.status == "dead" and found.replays > letter.replays):
                break
            self._http.pause()
        return found
