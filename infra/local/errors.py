"""The one kind of failure that the local stack reports to the person who started it."""


class StackError(Exception):
    """Something the stack needs is missing or did not start.

    The text names the thing, the reason and the remedy; `log_tail` holds the lines of a log that
    show the reason, or is empty.
    """

    def __init__(self, thing: str, reason: str, remedy: str, log_tail: str = "") -> None:
        self.thing = thing
        self.reason = reason
        self.remedy = remedy
        self.log_tail = log_tail
        super().__init__(f"{thing}: {reason}; {remedy}")
