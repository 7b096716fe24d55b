"""All events by type name."""

from schemas import dataset, deadletter, deletion, learning, publishing, requests, run, serving
from schemas.base import Event

_MODULES = (requests, dataset, run, learning, serving, publishing, deletion, deadletter)

EVENTS: dict[str, type[Event]] = {
    member.TYPE: member
    for module in _MODULES
    for member in vars(module).values()
    if isinstance(member, type) and issubclass(member, Event) and hasattr(member, "TYPE")
}
