"""Spans as a tree, and the tree as text. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from easyloop.answers import Span

FOLD_ABOVE = 3


@dataclass(frozen=True)
class Node:
    """A span and what it caused, by start time. A folded node stands for `times` spans that took `total_ms` in all."""

    span: Span
    children: tuple["Node", ...]
    times: int = 1
    total_ms: float = 0.0


def build(spans: Sequence[Span]) -> list[Node]:
    """The roots, by start time. A span whose parent was not written (or is still open) is a root."""
    known = {span.span_id for span in spans}
    by_parent: defaultdict[str | None, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.start, span.span_id)):
        by_parent[span.parent_span_id if span.parent_span_id in known else None].append(span)

    def nodes(parent: str | None) -> tuple[Node, ...]:
        return tuple(Node(span, nodes(span.span_id)) for span in by_parent[parent])

    return list(nodes(None))


def fold(nodes: Sequence[Node]) -> list[Node]:
    """Where more than three siblings did the same without failing (progress, mostly), one node for all of them."""
    alike: defaultdict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        alike[_kind(node.span)].append(node)
    folded = []
    for group in alike.values():
        if len(group) > FOLD_ABOVE:
            children = tuple(fold([child for node in group for child in node.children]))
            total_ms = sum(node.span.duration_ms for node in group)
            folded.append(Node(group[0].span, children, len(group), total_ms))
        else:
            folded += [Node(node.span, tuple(fold(node.children))) for node in group]
    return sorted(folded, key=lambda node: (node.span.start, node.span.span_id))


def label(node: Node) -> str:
    """One line: service, name, duration, and the reason if it failed."""
    span = node.span
    failed = f"  FAILED {span.status_message}" if span.status == "error" else ""
    took = f"{node.times} times, {duration(node.total_ms)}" if node.times > 1 else duration(span.duration_ms)
    return f"{span.service}: {_name(span)}  {took}{failed}"


def _name(span: Span) -> str:
    what = str(span.attributes.get("cloudevents.event_type", ""))
    return f"{span.name} ({what.removeprefix('easyloop.')})" if what else span.name


def _kind(span: Span) -> str:
    return span.span_id if span.status == "error" else f"{span.service}: {_name(span)}"


def duration(milliseconds: float) -> str:
    """For people: 12 ms, 3.4 s."""
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def lines(nodes: Sequence[Node], indent: str = "") -> Iterator[str]:
    """The tree as indented text."""
    for node in nodes:
        yield indent + label(node)
        yield from lines(node.children, indent + "  ")
