"""The spans of one trace, read from OTLP-JSON files: each line is one ExportTraceServiceRequest (OTLP 1.x)."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
_STATUSES = {0: "unset", 1: "ok", 2: "error"}


def spans_of(trace_dir: Path, trace_id: str) -> list[dict[str, Any]]:
    """All spans of the trace that were written so far, by start time. Blocking."""
    spans = [span for path in sorted(trace_dir.glob("*.jsonl")) for span in _spans_in(path, trace_id)]
    return sorted(spans, key=lambda span: (span["start"], span["span_id"]))


def _spans_in(path: Path, trace_id: str) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        # Looking for the id in the text first spares parsing the lines of all other traces.
        yield from parse_lines((line for line in lines if trace_id in line), trace_id)


def parse_lines(lines: Iterable[str], trace_id: str) -> Iterator[dict[str, Any]]:
    """The trace's spans; a line that is still being written is left out until it is whole."""
    for line in lines:
        try:
            request = json.loads(line)
        except ValueError:
            continue
        for resource in request.get("resourceSpans", ()):
            service = _attributes(resource.get("resource", {}).get("attributes", ())).get("service.name", "")
            for scope in resource.get("scopeSpans", ()):
                for span in scope.get("spans", ()):
                    if span.get("traceId") == trace_id:
                        yield _span(span, str(service))


def _span(span: dict[str, Any], service: str) -> dict[str, Any]:
    start, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    status = span.get("status", {})
    return {
        "name": span.get("name", ""),
        "service": service,
        "span_id": span["spanId"],
        "parent_span_id": span.get("parentSpanId") or None,
        "kind": _KINDS.get(span.get("kind", 0), "unspecified"),
        "start": _rfc3339(start),
        "end": _rfc3339(end),
        "duration_ms": round((end - start) / 1e6, 3),
        "status": _STATUSES.get(status.get("code", 0), "unset"),
        "status_message": status.get("message", ""),
        "attributes": _attributes(span.get("attributes", ())),
    }


def _rfc3339(nanoseconds: int) -> str:
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 1_000_000_000 // 1000:06d}Z"


def _attributes(pairs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {pair["key"]: _value(pair.get("value", {})) for pair in pairs}


def _value(value: dict[str, Any]) -> Any:
    for kind, content in value.items():
        if kind == "intValue":  # 64-bit integers travel as text in the JSON encoding
            return int(content)
        if kind == "arrayValue":
            return [_value(one) for one in content.get("values", ())]
        return content
    return None
