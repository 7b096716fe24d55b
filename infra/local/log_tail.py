"""The lines at the end of a log that say why a program failed."""

from pathlib import Path

TELLING = ("error", "fatal", "exception", "traceback", "refused", "in use", "cannot", "failed", "denied")


def log_tail(path: Path, lines: int = 12, window_bytes: int = 64_000) -> str:
    """At most `lines` lines from the end: those that name an error when any do, else the last ones."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - window_bytes))
        text = stream.read().decode("utf-8", errors="replace")
    every = [line for line in text.splitlines() if line.strip()]
    telling = [line for line in every if any(word in line.lower() for word in TELLING)]
    # The very last line is kept: a program's final word matters even where it names no error.
    chosen = [*telling[-(lines - 1) :], *every[-1:]] if telling else every[-lines:]
    return "\n".join(dict.fromkeys(chosen))
