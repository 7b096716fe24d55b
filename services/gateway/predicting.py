"""Predictions in a small thread pool: a bounded number waits, the rest is refused at once."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from learning.errors import SampleRejected
from learning.task import Prediction, Predictor

Outcome = Prediction | SampleRejected


class Busy(Exception):
    """As many files wait as may."""


class PredictionPool:
    """`threads` predictions at a time over all models; at most `queue` files wait or run."""

    def __init__(self, threads: int, queue: int) -> None:
        self._threads = threads
        self._queue = queue
        self._pending = 0
        self._executor = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="predict")

    async def predict(self, predictor: Predictor, contents: Sequence[bytes]) -> list[Outcome]:
        """One outcome a file, in order; one that cannot be read does not hold up the others. Raises Busy."""
        if self._pending and self._pending + len(contents) > self._queue:
            raise Busy
        self._pending += len(contents)
        try:
            shares = shared_out(contents, self._threads)
            loop = asyncio.get_running_loop()
            work = [loop.run_in_executor(self._executor, outcomes, predictor, share) for share in shares]
            return [outcome for share in await asyncio.gather(*work) for outcome in share]
        finally:
            self._pending -= len(contents)

    async def close(self) -> None:
        """Let what runs end; begin nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def shared_out(contents: Sequence[bytes], threads: int) -> list[Sequence[bytes]]:
    """Consecutive shares of nearly equal length, none empty, at most one a thread."""
    size = -(-len(contents) // threads) or 1
    return [contents[start : start + size] for start in range(0, len(contents), size)]


def outcomes(predictor: Predictor, contents: Sequence[bytes]) -> list[Outcome]:
    """Predict all at once; only where one cannot be read, one by one, to tell which."""
    try:
        return list(predictor.predict(contents))
    except SampleRejected as rejection:
        if len(contents) == 1:
            return [rejection]
    return [outcome for content in contents for outcome in outcomes(predictor, [content])]
