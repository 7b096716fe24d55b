"""The servers that other tests stand on."""

from infra.local.readiness import check_document_store, check_kafka, check_object_store
from tests.servers import LocalServers


def test_every_server_of_the_fixture_does_its_work(local_servers: LocalServers) -> None:
    check_kafka(local_servers.kafka)
    check_document_store(local_servers.mongo_uri)
    check_object_store(local_servers.s3_endpoint, local_servers.s3_access_key, local_servers.s3_secret_key)
