"""The task types that exist."""

from collections.abc import Callable, Iterator

from learning.device import Device
from learning.errors import TaskUnknownError
from learning.task import TaskPlugin


def _image_classification(device: Device) -> TaskPlugin:
    from learning.image_classification.plugin import ImageClassification

    return ImageClassification(device)


# Built on demand, so that a process loads only the libraries of the tasks it uses.
_TASKS: dict[str, Callable[[Device], TaskPlugin]] = {"image_classification": _image_classification}


def task_names() -> tuple[str, ...]:
    """The names of all task types, sorted."""
    return tuple(sorted(_TASKS))


def all_tasks() -> Iterator[TaskPlugin]:
    """The plug-ins of all task types, on the CPU."""
    return (get_task(name) for name in task_names())


def get_task(name: str, device: Device = "cpu") -> TaskPlugin:
    """The plug-in for a task type, training on `device`. Raises TaskUnknownError, naming the known ones."""
    if name not in _TASKS:
        known = ", ".join(task_names())
        raise TaskUnknownError("task_unknown", f"There is no task type {name!r}; choose one of: {known}.")
    return _TASKS[name](device)
