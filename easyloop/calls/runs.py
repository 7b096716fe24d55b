"""Training runs, and the events and spans that tell of them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx

from easyloop.answers import Event, Run, Span
from easyloop.calls.base import Calls
from easyloop.sse import data_of
from easyloop.transport import ATTEMPTS


class RunCalls(Calls):
    """Start, watch, cancel."""

    def start_run(
        self,
        dataset_id: str,
        *,
        version: int | None = None,
        preset: str = "fast",
        space: dict[str, Any] | None = None,
    ) -> Run:
        """Train; without a version on the newest usable one."""
        body = {"dataset_id": dataset_id, "version": version, "preset": preset, "space": space}
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
