"""The two kinds of error, and the few instructions that travel as exceptions."""


class TransientError(Exception):
    """Trying again later may help: a server is away, two transactions met."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence


class PermanentError(Exception):
    """Trying again will not help. The sentence names the thing, the reason and the remedy."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(f"{code}: {sentence}")
        self.code = code
        self.sentence = sentence


class ServerUnavailable(TransientError):
    """A server this service stands on does not answer; the message in hand is not to blame."""


class WriteConflict(TransientError):
    """Another transaction wrote the same document first; run this one again from its start."""

    def __init__(self) -> None:
        super().__init__("write_conflict", "another transaction wrote the same document first; this one runs again")


class AlreadyHandled(Exception):
    """The inbox knows this event: its effect is there, so nothing is to be done."""


class StaleLease(Exception):
    """The job was given to another worker; whatever this one still holds must not be written."""
