"""Spans as a tree, and the tree as text. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from easyloop.answers import Span


@dataclass(frozen=True)
class Node:
    """A span and what it caused, by start time."""

    span: Span
    children: tuple["Node", ...]


def build(spans: Sequence[Span]) -> list[Node]:
    """The roots, by start time. A span whose parent was not written (or is still open) is a root."""
    known = {span.span_id for span in spans}
    by_parent: defaultdict[str | None, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start, span.span_id)):
        by_parent[span.parent_span_id if span.parent_span_id in known else None].append(span)

    def nodes(parent: str | None) -> tuple[Node, ...]:
        return tuple(Node(span, nodes(span.span_id)) for span in by_parent[parent])

    return list(nodes(None))


def label(span: Span) -> str:
    """One line: service, name, duration, and the reason if it failed."""
    what = str(span.attributes.get("cloudevents.event_type", ""))
    name = f"{span.name} ({what.removeprefix('easyloop.')})" if what else span.name
    failed = f"  FAILED {span.status_message}" if span.status == "error" else ""
    return f"{span.service}: {name}  {duration(span.duration_ms)}{failed}"


def duration(milliseconds: float) -> str:
    """For people: 12 ms, 3.4 s."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def lines(nodes: Sequence[Node], indent: str = "") -> Iterator[str]:
    """The tree as indented text."""
    for node in nodes:
        yield indent + label(node.span)
        yield from lines(node.children, indent + "  ")
