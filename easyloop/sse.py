"""Server-sent events from lines of text (WHATWG HTML, section 9.2.6, as far as our platform uses it)."""

from collections.abc import Iterable, Iterator


def data_of(lines: Iterable[str]) -> Iterator[str]:
    """The data of each complete event; comments (heartbeats) and events without data are left out."""
    data: list[str] = []
    for line in lines:
        if not line:
            if data:
                yield "\n".join(data)
            data = []
            continue
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
