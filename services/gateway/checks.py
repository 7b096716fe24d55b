"""What the doctor thinks of what was found. Pure: numbers in, a check with its remedy out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from chassis.topics import TopicCatalog

Health = Literal["ok", "warning", "error"]

SILENT_S = 30.0
WORKER_SILENT_S = 60.0
QUEUED_S = 15 * 60.0
UNSENT_S = 30.0
MUCH_LAG = 1000
LITTLE_SPACE = 2 * 10**9
NO_SPACE = 500 * 10**6


@dataclass(frozen=True)
class Check:
    """`found` is a clause without its full stop; `remedy` is empty where there is nothing to do."""

    name: str
    status: Health
    found: str
    remedy: str = ""


def server(name: str, why: str | None, milliseconds: float) -> Check:
    """`why` it does not answer, or None."""
    if why is None:
        return Check(name, "ok", f"answers within {milliseconds:.0f} ms")
    return Check(name, "error", why, "start it again (locally: make up), and look into its log")


def topics(catalog: TopicCatalog, partitions: Mapping[str, int]) -> Check:
    """`partitions` of the topics that are there."""
    missing = sorted(topic.name for topic in catalog.topics if topic.name not in partitions)
    fewer = sorted(
        f"{topic.name} ({partitions[topic.name]} of {topic.partitions} partitions)"
        for topic in catalog.topics
        if partitions.get(topic.name, topic.partitions) < topic.partitions
    )
    remedy = "run python -m infra.setup (locally make up does)"
    if missing:
        return Check("topics", "error", f"missing: {', '.join(missing)}", remedy)
    if fewer:
        return Check("topics", "warning", f"smaller than topics.yaml says: {', '.join(fewer)}", remedy)
    return Check("topics", "ok", f"all {len(catalog.topics)} are there")


def lag(behind: Mapping[str, int | None]) -> Check:
    """Messages that each consumer group has not handled yet; None where the bus cannot tell."""
    known = {group: count for group, count in behind.items() if count is not None}
    if not known:
        return Check("consumers", "ok", "this bus cannot tell how far behind they are")
    late = [f"{group} {count}" for group, count in sorted(known.items()) if count > MUCH_LAG]
    if late:
        remedy = "wait if it shrinks; otherwise look into the log of that service"
        return Check("consumers", "warning", f"messages behind: {', '.join(late)}", remedy)
    return Check("consumers", "ok", f"at most {max(known.values())} messages behind")


def services(last_seen: Mapping[str, datetime | None], now: datetime) -> Check:
    """When each service last renewed the lease of its relay."""
    silent = [
        f"{name} ({_ago(now - seen)})" if seen else f"{name} (never)"
        for name, seen in sorted(last_seen.items())
        if seen is None or (now - seen).total_seconds() > SILENT_S
    ]
    if silent:
        remedy = "see that it runs (locally: make status), and look into its log"
        return Check("services", "error", f"no sign of life from {', '.join(silent)}", remedy)
    return Check("services", "ok", f"all {len(last_seen)} are alive")


def jobs(rows: Mapping[str, Sequence[Mapping[str, Any]]], now: datetime) -> Check:
    """The queued and running jobs of each service."""
    stuck, waiting = [], []
    for service, jobs_ in sorted(rows.items()):
        for job in jobs_:
            touched = job.get("touched_at")
            age = now - datetime.fromisoformat(touched) if touched else timedelta(0)
            name = f"{job['_id']} ({job['kind']}, {service}, {_ago(age)})"
            if job["status"] == "running" and age.total_seconds() > WORKER_SILENT_S:
                stuck.append(name)
            elif job["status"] == "queued" and age.total_seconds() > QUEUED_S:
                waiting.append(name)
    if stuck:
        remedy = "another worker takes it over by itself; if it does not, start that service again"
        return Check("jobs", "error", f"without a heartbeat: {', '.join(stuck)}", remedy)
    if waiting:
        return Check(
            "jobs", "warning", f"queued for long: {', '.join(waiting)}", "wait, or add workers of that service"
        )
    return Check("jobs", "ok", f"{sum(map(len, rows.values()))} queued or running, none stuck")


def outbox(oldest: Mapping[str, datetime], now: datetime) -> Check:
    """The oldest unsent row of each service that has one."""
    late = [
        f"{name} ({_ago(now - at)})" for name, at in sorted(oldest.items()) if (now - at).total_seconds() > UNSENT_S
    ]
    if late:
        remedy = "see that the bus and that service run; what is stored is sent as soon as they do"
        return Check("outbox", "warning", f"not sent yet by {', '.join(late)}", remedy)
    return Check("outbox", "ok", "everything is sent")


def failures(counts: Mapping[str, Mapping[str, int]]) -> Check:
    """Of each service, failed events by status: retrying, parked behind one, or dead."""
    dead = {service: found["dead"] for service, found in sorted(counts.items()) if found.get("dead")}
    open_ = {
        service: found.get("retrying", 0) + found.get("parked", 0)
        for service, found in sorted(counts.items())
        if found.get("retrying") or found.get("parked")
    }
    if dead:
        remedy = "easyloop dlq list says why; mend the cause, then easyloop dlq replay"
        return Check("failures", "warning", f"dead letters: {_counted(dead)}", remedy)
    if open_:
        return Check("failures", "warning", f"events tried again: {_counted(open_)}", "wait; they may still succeed")
    return Check("failures", "ok", "no event has failed")


def blobs(latest: Mapping[str, Any] | None, now: datetime) -> Check:
    """What the last collection of blobs wrote down."""
    if latest is None:
        return Check("blobs", "ok", "not looked at yet")
    when = _ago(now - datetime.fromisoformat(latest["looked_at"]))
    if latest.get("failure"):
        return Check("blobs", "warning", f"could not be collected: {latest['failure']['sentence']}")
    megabytes = latest["orphan_bytes"] / 1e6
    return Check(
        "blobs", "ok", f"{latest['orphans']} not needed ({megabytes:.1f} MB), {latest['removed']} removed, {when}"
    )


def disk(free: int, total: int) -> Check:
    """Bytes of the disk that holds the data folder."""
    found = f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free"
    if free < NO_SPACE:
        return Check("disk", "error", found, "make room now: uploads and trainings will fail")
    if free < LITTLE_SPACE:
        return Check("disk", "warning", found, "make room soon: delete data sets and models that nobody needs")
    return Check("disk", "ok", found)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{service} {count}" for service, count in counts.items())


def _ago(age: timedelta) -> str:
    seconds = max(0, round(age.total_seconds()))
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"
