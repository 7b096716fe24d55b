"""Every row of docs/inputs.md holds, through the public API; and there is no row without a case."""

import re
from pathlib import Path

import pytest

from tests.inputs import list_cases, picture_cases, tar_cases, zip_cases
from tests.inputs.case import Case, judge
from tests.platform import InlinePlatform

CASES = (*zip_cases.CASES, *tar_cases.CASES, *list_cases.CASES, *picture_cases.CASES)
DOCUMENT = Path(__file__).parents[2] / "docs" / "inputs.md"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_what_arrives_is_treated_as_the_table_says(case: Case, tmp_path: Path) -> None:
    platform = InlinePlatform(tmp_path, case.limits)
    dataset = await platform.create_dataset()
    if case.onto:
        earlier = case.onto
        before = await platform.upload(earlier.make(), earlier.file_name, earlier.label, dataset)
        assert before.outcome == earlier.outcome
    judge(case, await platform.upload(case.make(), case.file_name, case.label, dataset))


def test_the_document_and_the_cases_are_the_same_set() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(case.id for case in CASES)
    assert len(set(rows)) == len(rows)
