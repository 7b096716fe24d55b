"""Which version of a model answers callers: aliases, their history, and the policy for new versions."""

from easyloop.calls.base import Calls
from easyloop.errors import EasyLoopError
from easyloop.model_answers import Alias, AliasMove, PublishPolicy, Rollback

LOOKS = 60
"""Pauses after which something that takes a moment is given up waiting for."""


class PublishingCalls(Calls):
    """Publish, go back, look back. `actor` is who asks, for the history."""

    def aliases(self, model_id: str) -> list[Alias]:
        """Which names point at which version."""
        return [Alias.model_validate(item) for item in self._items(f"/v1/models/{model_id}/aliases")]

    def wait_until_served(self, model_id: str, version: int, alias: str = "production") -> None:
        """Until the gateway answers from that version."""
        while not any(one.alias == alias and one.serving_version == version for one in self.aliases(model_id)):
            self._http.pause()

    def publish(
        self, model_id: str, version: int, *, alias: str = "production", reason: str = "", actor: str = "admin"
    ) -> None:
        """Ask for the alias to name that version; gateways follow within seconds."""
        body = {"version": version, "reason": reason, "actor": actor}
        self._http.send("PUT", f"/v1/models/{model_id}/aliases/{alias}", lambda: {"json": body})

    def rollback(self, model_id: str, *, alias: str = "production", reason: str = "", actor: str = "admin") -> Rollback:
        """Let the alias name the version before its last move again, and wait until it does."""
        body = {"reason": reason, "actor": actor}
        answer = self._http.post(f"/v1/models/{model_id}/aliases/{alias}/rollback", lambda: {"json": body})
        asked = Rollback.model_validate(answer.json())
        for _ in range(LOOKS):
            if any(one.alias == alias and one.version == asked.version for one in self.aliases(model_id)):
                return asked
            self._http.pause()
        sentence = f"{alias} of {model_id} was asked to go back to version {asked.version} and has not yet; look again."
        raise EasyLoopError("rollback_pending", sentence)

    def alias_history(self, model_id: str, alias: str = "production") -> list[AliasMove]:
        """Newest first."""
        return [
            AliasMove.model_validate(item) for item in self._items(f"/v1/models/{model_id}/aliases/{alias}/history")
        ]

    def policy(self, model_id: str) -> PublishPolicy:
        """When a new version goes to production by itself."""
        return PublishPolicy.model_validate(self._http.get(f"/v1/models/{model_id}/policy").json())

    def set_policy(self, model_id: str, policy: PublishPolicy, *, actor: str = "admin") -> None:
        """Set the whole policy and wait until it holds."""
        body = {**policy.model_dump(), "actor": actor}
        self._http.send("PUT", f"/v1/models/{model_id}/policy", lambda: {"json": body})
        for _ in range(LOOKS):
            if self.policy(model_id) == policy:
                return
            self._http.pause()
        raise EasyLoopError(
            "policy_pending", f"The policy of {model_id} was asked for and does not hold yet; look again."
        )
