"""A trace as a tree that a person can read."""

from easyloop.answers import Span
from easyloop.trace_tree import build, fold, lines


def a_span(span_id: str, parent: str | None, name: str, status: str = "unset") -> Span:
    return Span(
        name=name,
        service="hpo",
        span_id=span_id,
        parent_span_id=parent,
        start=f"2026-01-01T00:00:{int(span_id):02}Z",
        duration_ms=10,
        status=status,
        status_message="It broke." if status == "error" else "",
    )


def test_what_happened_many_times_is_one_line_and_so_is_what_it_caused() -> None:
    sends = [a_span(str(number), "0", "send") for number in range(1, 9, 2)]
    handled = [a_span(str(number + 1), str(number), "process") for number in range(1, 9, 2)]
    spans = [a_span("0", None, "study"), *sends, *handled]
    assert list(lines(fold(build(spans)))) == [
        "hpo: study  10 ms",
        "  hpo: send  4 times, 40 ms",
        "    hpo: process  4 times, 40 ms",
    ]


def test_a_failure_is_never_folded_away() -> None:
    spans = [a_span("0", None, "study"), *(a_span(str(n), "0", "send") for n in range(1, 6))]
    spans.append(a_span("9", "0", "send", status="error"))
    assert list(lines(fold(build(spans))))[-1] == "  hpo: send  10 ms  FAILED It broke."


def test_a_span_whose_parent_is_not_written_yet_is_a_root() -> None:
    assert [node.span.span_id for node in build([a_span("1", "0", "orphan"), a_span("2", None, "root")])] == ["1", "2"]
