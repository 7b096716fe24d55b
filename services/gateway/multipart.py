"""multipart/form-data as a stream: parts come out as their bytes come in, and nothing is kept (RFC 7578)."""

from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header


class MultipartBroken(Exception):
    """The body is not what its content type says."""


@dataclass(frozen=True)
class PartBegun:
    """A part's headers are read. `name` is the form field; `file_name` is None for a plain field."""

    name: str
    file_name: str | None


@dataclass(frozen=True)
class PartData:
    """The next bytes of the part begun last."""

    content: bytes


@dataclass(frozen=True)
class PartEnded:
    """The part begun last is complete."""


PartEvent = PartBegun | PartData | PartEnded


def boundary_of(content_type: str) -> bytes | None:
    """The boundary of a multipart/form-data content type; None for another type."""
    kind, options = parse_options_header(content_type)
    return options.get(b"boundary") if kind == b"multipart/form-data" else None


class MultipartReader:
    """Turns chunks of a body into part events."""

    def __init__(self, boundary: bytes) -> None:
        self._events: list[PartEvent] = []
        self._headers: dict[str, str] = {}
        self._field = b""
        self._value = b""
        self._complete = False
        try:
            self._parser = MultipartParser(boundary, self._callbacks())  # type: ignore[arg-type]  # its TypedDict is not importable at run time
        except FormParserError as error:
            raise MultipartBroken(str(error)) from error

    def feed(self, chunk: bytes) -> list[PartEvent]:
        """The events that this chunk completes. Raises MultipartBroken."""
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise MultipartBroken(str(error)) from error
        events, self._events = self._events, []
        return events

    def finish(self) -> None:
        """Raises MultipartBroken when the closing boundary never came."""
        if not self._complete:
            raise MultipartBroken("the body ends before its closing boundary")

    def _callbacks(self) -> dict[str, object]:
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": self._on_field,
            "on_header_value": self._on_value,
            "on_header_end": self._on_header_end,
            "on_headers_finished": self._on_headers,
            "on_part_data": self._on_data,
            "on_part_end": lambda: self._events.append(PartEnded()),
            "on_end": self._on_end,
        }

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._field.decode("latin-1").lower()] = self._value.decode("latin-1")
        self._field, self._value = b"", b""

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._headers.get("content-disposition", "").encode("latin-1"))
        file_name = options.get(b"filename")
        self._events.append(
            PartBegun(_text(options.get(b"name", b"")), None if file_name is None else _text(file_name))
        )

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        self._events.append(PartData(bytes(data[start:end])))

    def _on_end(self) -> None:
        self._complete = True


def _text(raw: bytes) -> str:
    # Browsers and curl send names in UTF-8, which a byte-wise reading leaves intact.
    return raw.decode("utf-8", "replace")


async def parts(stream: AsyncIterable[bytes], boundary: bytes) -> AsyncIterator[PartEvent]:
    """The part events of a whole body. Raises MultipartBroken."""
    reader = MultipartReader(boundary)
    async for chunk in stream:
        for event in reader.feed(chunk):
            yield event
    reader.finish()
