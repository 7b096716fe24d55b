"""What a run's events mean to someone who watches. Pure."""

from dataclasses import dataclass

from easyloop.answers import Event


@dataclass(frozen=True)
class Advance:
    """How far a stage is. `fraction` is 0 to 1, `eta_s` seconds or None."""

    stage: str
    fraction: float
    eta_s: float | None = None


@dataclass(frozen=True)
class Line:
    """Something worth a line."""

    text: str


def read(event: Event) -> Advance | Line | None:
    """None for what a watcher need not see."""
    data = event.data
    match event.type:
        case "easyloop.study.progressed.v1" | "easyloop.training.progressed.v1":
            return Advance(data["stage"], float(data["fraction"]), data.get("eta_s"))
        case "easyloop.run.stage.changed.v1":
            return Line(f"stage: {data['state']}")
        case "easyloop.study.started.v1":
            return Line(f"study: {data['trial_count']} trials to begin with")
        case "easyloop.trial.completed.v1":
            return Line(_trial(event))
        case "easyloop.model.evaluated.v1":
            return Line(f"test: {metrics(data['metrics'])}")
    return None


def _trial(event: Event) -> str:
    data = event.data
    candidate = " ".join(f"{name}={_short(value)}" for name, value in data["candidate"].items())
    stopped = ", stopped early" if data["stopped_early"] else ""
    return f"trial {data['trial']}: {metrics(data['metrics'])} ({candidate}{stopped})"


def metrics(values: dict[str, float]) -> str:
    """As text, in the order given."""
    return ", ".join(f"{name} {value:.4g}" for name, value in values.items())


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
