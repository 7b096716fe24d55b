"""A gateway process over real servers, asked at random: what its stores cannot take is refused, not stumbled over."""

from pathlib import Path

import pytest
import schemathesis

from tests.fuzz.asking import config, faults_of
from tests.integration.gateway.running import KEY, running_gateway
from tests.servers import LocalServers

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLES = 5


def test_every_answer_is_as_documented(local_servers: LocalServers, tmp_path: Path) -> None:
    with running_gateway(local_servers, tmp_path) as gateway:
        document = f"{gateway.platform.url}/openapi.json"
        schema = schemathesis.openapi.from_url(document, config=config(EXAMPLES, KEY))
        # Streams of events never end here.
        assert faults_of(schema.exclude(path_regex="/events$")) == ""
