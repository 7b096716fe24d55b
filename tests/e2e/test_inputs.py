"""The table of uploads through real servers, which do not forgive what fakes may forgive."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.inputs.case import Case, judge
from tests.inputs.test_inputs import CASES
from tests.platform import Uploaded
from tests.servers import LocalStack

AT_ONCE = 4

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_row_of_each_kind_of_answer_holds_on_real_servers(stack: LocalStack) -> None:
    headers = {"Authorization": f"Bearer {stack.admin_key}"}
    with (
        httpx.Client(base_url=stack.gateway_url, headers=headers, timeout=120) as http,
        ThreadPoolExecutor(AT_ONCE) as uploads,
    ):
        wrong = list(uploads.map(lambda case: _wrong(case, http), _one_of_each_kind()))
    assert not any(wrong), "\n".join(filter(None, wrong))


def _one_of_each_kind() -> list[Case]:
    """Rows with limits of their own are left out: those limits are settings of the whole service."""
    kinds = {(case.outcome, frozenset(case.rejected)): case for case in CASES if case.limits is None}
    return list(kinds.values())


def _wrong(case: Case, http: httpx.Client) -> str:
    """What is not as the row says, or nothing."""
    dataset = http.post("/v1/datasets", json={"name": case.id, "auto_train": "off"}).json()["id"]
    try:
        if case.onto:
            before = _upload(http, dataset, case.onto.make(), case.onto.file_name, case.onto.label)
            assert before.outcome == case.onto.outcome
        judge(case, _upload(http, dataset, case.make(), case.file_name, case.label))
    except AssertionError as error:
        return f"{case.id}: {error}"
    return ""


def _upload(http: httpx.Client, dataset: str, content: bytes, file_name: str, label: str | None = None) -> Uploaded:
    params = {"file_name": file_name, **({"label": label} if label else {})}
    answer = http.post(f"/v1/datasets/{dataset}/imports", params=params, content=content)
    assert answer.status_code < 500, answer.text
    if answer.status_code != 202:
        return Uploaded(refused=answer.json())
    imported = _until(lambda: http.get(answer.headers["Location"]), lambda row: row["version"] is not None)
    address = f"/v1/datasets/{dataset}/versions/{imported['version']}"
    version = _until(lambda: http.get(address), lambda row: row["status"] != "open")
    return Uploaded(imported=imported, version=version)


def _until(get: Callable[[], httpx.Response], is_over: Callable[[dict[str, object]], bool]) -> dict[str, object]:
    """The test's own time limit ends a wait in vain."""
    while True:
        answer = get()
        if answer.status_code == 200 and is_over(row := answer.json()):
            return dict(row)
        assert answer.status_code in (200, 404), answer.text
        time.sleep(0.25)
