"""The one error a user of the client meets."""


class EasyLoopError(Exception):
    """`code` is stable, `sentence` says what to do, `status` is the HTTP status, 0 without an answer."""

    def __init__(self, code: str, sentence: str, status: int = 0) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.status = status
