"""How a service is put together."""

from chassis.composition import retention_indexes
from chassis.topics import load_topics


def test_the_inbox_remembers_longer_than_the_bus_keeps_any_message() -> None:
    catalog = load_topics()
    longest_s = max(topic.retention_days for topic in catalog.topics) * 24 * 3600
    for index in retention_indexes(catalog):
        assert index.expire_after_s is not None
        assert index.expire_after_s > longest_s
