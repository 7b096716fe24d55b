"""The HTTP interface asked everything its own OpenAPI document allows, and much that it does not.

Each answer must be one that the document tells of: status, type, headers and body; none is a fault of ours.
"""

import asyncio
import zlib
from pathlib import Path
from typing import Any

import pytest
import schemathesis

from tests.fuzz.asking import config, faults_of
from tests.unit.gateway.building import Gateway

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLES = 12
KNOWN = {"dataset_id": "ds_1", "model_id": "mdl_1", "run_id": "run_1", "version": 1, "alias": "production"}


async def a_gateway(folder: Path) -> Gateway:
    """It knows one of each thing; its endless streams end at once."""
    gateway = Gateway(folder, stops_after=0)
    await gateway.has_dataset(next_version=2)
    await gateway.has_version(1)
    await gateway.has_run(state="succeeded", model_id="mdl_1", model_version=1)
    await gateway.has_model(1)
    await gateway.models.refresh()
    return gateway


def map_path_parameters(context: Any, parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Half of the things asked for exist."""
    if parameters is None:
        return None
    return {name: _known(name, value) for name, value in parameters.items()}


def _known(name: str, value: Any) -> Any:
    by_chance = zlib.crc32(str(value).encode("utf-8", "replace")) % 2
    return KNOWN[name] if name in KNOWN and by_chance else value


def test_every_answer_is_as_documented(tmp_path: Path) -> None:
    gateway = asyncio.run(a_gateway(tmp_path))
    schema = schemathesis.openapi.from_asgi("/openapi.json", gateway.app, config=config(EXAMPLES))
    schema.hook(map_path_parameters)
    assert faults_of(schema) == ""
