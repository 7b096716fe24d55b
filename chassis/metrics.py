"""Every metric of the chassis, in one list."""

from prometheus_client import Counter, Gauge, Histogram

EVENTS_HANDLED = Counter(
    "easyloop_events_handled", "Events by how their handling ended", ["service", "event_type", "outcome"]
)
HANDLING_SECONDS = Histogram("easyloop_event_handling_seconds", "Time a handler took", ["service", "event_type"])
OUTBOX_SENT = Counter("easyloop_outbox_sent", "Outbox rows acknowledged by the broker", ["service"])
OUTBOX_AGE = Gauge("easyloop_outbox_age_seconds", "How long the oldest unsent event waits, 0 without one", ["service"])
PARKED_KEYS = Gauge("easyloop_parked_keys", "Aggregates whose later events wait behind a failed one", ["service"])
FAILURES_OPEN = Gauge(
    "easyloop_failures_open", "Events that wait for another attempt or behind one that does", ["service"]
)
DEAD_LETTERS = Counter("easyloop_dead_letters", "Events given up on", ["service", "code"])
JOBS_ENDED = Counter("easyloop_jobs_ended", "Jobs by how they ended", ["service", "kind", "outcome"])
