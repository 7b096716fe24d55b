"""HTTP to the platform: the key, retries where they are safe, and problem documents as EasyLoopError."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from easyloop.discovery import START, Platform
from easyloop.errors import EasyLoopError

CONNECT_S = 5.0
ANSWER_S = 120.0
STREAM_SILENCE_S = 60.0
ATTEMPTS = 6
MOST_PAUSE_S = 3.0
PAUSE_S = 0.5
RESTART_ATTEMPTS = 120
PASSING = frozenset({"platform_down", "client_gone", "body_stalled", "digest_wrong"})
"""What a body meets on a bad line; sent again it may arrive."""

Arguments = Callable[[], dict[str, Any]]
"""Makes the arguments of a request afresh, so that a streamed body can be sent again."""


class Transport:
    """One platform. Closes its connections with `close`."""

    def __init__(
        self, platform: Platform, transport: httpx.BaseTransport | None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url = platform.url
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=platform.url,
            headers={"Authorization": f"Bearer {platform.key}"},
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
            transport=transport,
        )

    def get(self, path: str, **params: Any) -> httpx.Response:
        """Raises EasyLoopError, here as everywhere below."""
        wanted = {name: value for name, value in params.items() if value is not None}
        return self.send("GET", path, lambda: {"params": wanted})

    def post(self, path: str, arguments: Arguments) -> httpx.Response:
        """Safe to repeat: every call carries an Idempotency-Key of its own."""
        key = {"Idempotency-Key": str(uuid.uuid4())}

        def with_key() -> dict[str, Any]:
            made = arguments()
            return {**made, "headers": {**made.get("headers", {}), **key}}

        return self.send("POST", path, with_key)

    def patiently(self, method: str, path: str, arguments: Arguments) -> httpx.Response:
        """For calls that are safe to repeat: goes on for about a minute while the platform is restarted."""
        for _ in range(RESTART_ATTEMPTS):
            try:
                return self.send(method, path, arguments)
            except EasyLoopError as error:
                if error.status != 503 and error.code not in PASSING:
                    raise
                self.pause()
        return self.send(method, path, arguments)

    def send(self, method: str, path: str, arguments: Arguments) -> httpx.Response:
        """A 503 is tried again a few times: a model is being loaded, a server comes back."""
        for attempt in range(1, ATTEMPTS + 1):
            with self._reached():
                answer = self._http.request(method, path, **arguments())
            if answer.status_code != 503 or attempt == ATTEMPTS:
                break
            self._sleep(min(MOST_PAUSE_S, float(answer.headers.get("retry-after", "1"))))
        return _checked(answer)

    @contextmanager
    def lines(self, path: str, headers: dict[str, str], params: dict[str, Any]) -> Iterator[Iterator[str]]:
        """The lines of an endless answer. Raises httpx.TransportError when it breaks off, for the caller to resume."""
        timeout = httpx.Timeout(ANSWER_S, connect=CONNECT_S, read=STREAM_SILENCE_S)
        with self._http.stream("GET", path, headers=headers, params=params, timeout=timeout) as answer:
            if answer.is_error:
                answer.read()
            yield _checked(answer).iter_lines()

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise self.unreachable(error) from error

    def unreachable(self, error: httpx.TransportError) -> EasyLoopError:
        """The sentence of a platform that is down."""
        reason = f"EasyLoop does not answer at {self.url} ({error or type(error).__name__})"
        return EasyLoopError("platform_down", f"{reason}; {START}, or see what runs: easyloop doctor.")

    def pause(self) -> None:
        """Between two looks at something that is being waited for."""
        self._sleep(PAUSE_S)

    def close(self) -> None:
        """Idempotent."""
        self._http.close()


def _checked(answer: httpx.Response) -> httpx.Response:
    if not answer.is_error:
        if answer.headers.get("content-type", "").startswith("text/html"):
            sentence = f"{answer.request.url} answered with a web page, so it is not EasyLoop; correct EASYLOOP_URL."
            raise EasyLoopError("not_easyloop", sentence, answer.status_code)
        return answer
    try:
        problem = answer.json()
        code, sentence = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        code = f"http_{answer.status_code}"
        said = f"{answer.request.url} answered {answer.status_code} and no problem document"
        sentence = f"{said}; is it EasyLoop? EASYLOOP_URL says which address is asked."
    raise EasyLoopError(code, sentence, answer.status_code)
