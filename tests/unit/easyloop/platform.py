"""A platform that answers from a table, behind the client's network port."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from easyloop.client import Client
from easyloop.discovery import Platform

Answer = httpx.Response | Callable[[httpx.Request], httpx.Response]

T0 = "2026-01-01T00:00:00.000Z"
DATASET = {"id": "ds_1", "name": "fruit", "task": "image_classification", "auto_train": "fast", "status": "created",
           "created_at": T0}  # fmt: skip
IMPORT = {"id": "imp_1", "dataset_id": "ds_1", "file_name": "fruit.zip", "status": "requested"}
VERSION = {"dataset_id": "ds_1", "version": 1, "status": "ready", "sample_count": 9, "split_counts": {"train": 9},
           "classes": [{"id": "c0", "name": "Apfel", "count": 9}]}  # fmt: skip
RUN = {"id": "run_1", "dataset_id": "ds_1", "version": 1, "preset": "fast", "trigger": "auto", "state": "searching",
       "created_at": T0, "stage_times": {"requested": T0}}  # fmt: skip
ENDED = {**RUN, "state": "succeeded", "model_id": "mdl_1", "model_version": 1}


@dataclass
class FakePlatform:
    """`answers` maps "METHOD /path" to what comes; of a list one after the other, the last for ever."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[httpx.Request] = field(default_factory=list)
    key: str = "elk_key"

    def on(self, route: str, *answers: Answer | dict[str, Any]) -> None:
        """Set the answers of a route; a dict is JSON with status 200."""
        self.answers[route] = [httpx.Response(200, json=one) if isinstance(one, dict) else one for one in answers]

    def client(self) -> Client:
        """A client of this platform that never really pauses."""
        made = Client(Platform("http://platform", self.key), httpx.MockTransport(self._answer))
        made._http._sleep = lambda _: None
        return made

    def _answer(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.asked.append(request)
        row = self.answers.get(f"{request.method} {request.url.path}")
        if row is None:
            return a_problem(404, "path_unknown", f"There is nothing at {request.url.path}.")
        answer = row.pop(0) if len(row) > 1 else row[0]
        return answer(request) if callable(answer) else httpx.Response(
            answer.status_code, headers=answer.headers, content=answer.content
        )  # fmt: skip


def a_problem(status: int, code: str, detail: str, **headers: str) -> httpx.Response:
    """A problem document."""
    return httpx.Response(status, json={"code": code, "detail": detail, "status": status}, headers=headers)


def a_stream(*events: tuple[str, dict[str, Any]], first: int = 1) -> httpx.Response:
    """Events as a run's stream gives them, numbered from `first`, with heartbeats in between."""
    blocks = []
    for seq, (kind, data) in enumerate(events, start=first):
        entry = {"seq": seq, "event_id": f"e{seq}", "type": kind, "key": "run_1", "run_id": "run_1", "time": T0}
        blocks.append(
            f": ping\r\n\r\nid: {seq}\r\nevent: {kind}\r\ndata: {json.dumps({**entry, 'data': data})}\r\n\r\n"
        )
    return httpx.Response(200, text="".join(blocks), headers={"Content-Type": "text/event-stream"})
