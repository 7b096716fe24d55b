"""A study as values: stages of candidates, what came of them, and which candidate won. Pure.

The task's plug-in decides stage by stage (`TaskPlugin.next_stage`), from nothing but a `StudyState`. The state is kept
as JSON, so a study that was broken off goes on where it was, and one that is done can be read and replayed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object: only dict with str keys, list, str, int, float, bool and None inside."""

Candidate: TypeAlias = dict[str, Any]
"""One point of a search space: parameter name to value. Plain JSON."""


@dataclass(frozen=True)
class Stage:
    """Candidates that are tried on the features of one recipe.

    why: a sentence for people. recipe: what `TaskPlugin.features` is to compute. epochs: of one trial; grace_epochs,
    reduction_factor: of successive halving (ASHA). threads: cores of one trial.
    """

    name: str
    why: str
    recipe: Json
    candidates: tuple[Candidate, ...]
    epochs: int
    grace_epochs: int
    reduction_factor: int
    threads: int
    expected_seconds: float

    def to_json(self) -> Json:
        """As a JSON object."""
        return {**asdict(self), "candidates": [dict(each) for each in self.candidates]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        known = _known(cls, document)
        return cls(**{**known, "candidates": tuple(known["candidates"])})


@dataclass(frozen=True)
class End:
    """No further stage, for this reason (a sentence)."""

    why: str


@dataclass(frozen=True)
class TrialOutcome:
    """How far a trial came and how it did there. number: its place among the stage's candidates. accuracy and loss are
    of `judged` samples it was not trained on; temperature and threshold were fitted on these.
    """

    number: int
    candidate: Candidate
    epoch: int
    accuracy: float
    loss: float
    temperature: float
    threshold: float
    judged: int

    @classmethod
    def of(cls, number: int, candidate: Candidate, report: Mapping[str, Any]) -> Self:
        """From the numbers of a trial's last report (`TrialReport.to_json`)."""
        figures = {name: float(report[name]) for name in ("accuracy", "loss", "temperature", "threshold")}
        return cls(number, candidate, int(report["epoch"]), judged=int(report["judged"]), **figures)

    @property
    def is_finite(self) -> bool:
        """Whether the training did not run away."""
        return math.isfinite(self.accuracy) and math.isfinite(self.loss)

    @property
    def standard_error(self) -> float:
        """Of the accuracy, were each sample an independent draw; never quite 0."""
        wrong = max(1 - self.accuracy, 0.5 / max(1, self.judged))
        return math.sqrt(min(wrong, 0.5) * (1 - min(wrong, 0.5)) / max(1, self.judged))


@dataclass(frozen=True)
class StageResult:
    """What came of a stage, so far or in the end; seconds include what was found ready-made as next to nothing."""

    stage: Stage
    outcomes: tuple[TrialOutcome, ...] = ()
    feature_seconds: float = 0.0
    search_seconds: float = 0.0
    is_over: bool = False

    @property
    def finalists(self) -> list[TrialOutcome]:
        """The usable ones that came to the last epoch."""
        return [outcome for outcome in self.outcomes if outcome.is_finite and outcome.epoch >= self.stage.epochs]

    @property
    def furthest(self) -> list[TrialOutcome]:
        """The usable ones that came as far as any: scores of different epochs do not compare."""
        usable = [outcome for outcome in self.outcomes if outcome.is_finite]
        furthest = max((outcome.epoch for outcome in usable), default=0)
        return [outcome for outcome in usable if outcome.epoch == furthest]

    def to_json(self) -> Json:
        """As a JSON object."""
        outcomes = [asdict(outcome) for outcome in self.outcomes]
        return {**asdict(self), "stage": self.stage.to_json(), "outcomes": outcomes}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        outcomes = tuple(TrialOutcome(**_known(TrialOutcome, each)) for each in document["outcomes"])
        known = {**_known(cls, document), "stage": Stage.from_json(document["stage"]), "outcomes": outcomes}
        return cls(**known)


@dataclass(frozen=True)
class StudyState:
    """All that the next decision follows from.

    elapsed_seconds: of the run, at this moment. speeds: what `TaskPlugin.probe` measured at the study's start. space:
    None, or what an expert wants tried, {"trials": how many, "parameters": as search_space.py has it}. earlier: None,
    or what the last whole search on this data set found, {"candidate": the winner, "sample_count": on how many}.
    """

    preset: str
    budget_seconds: float
    seed: int
    sample_count: int
    class_count: int
    speeds: Json
    elapsed_seconds: float = 0.0
    results: tuple[StageResult, ...] = ()
    space: Json | None = None
    earlier: Json | None = None

    def with_result(self, result: StageResult) -> "StudyState":
        """The last stage's result replaced, or a new stage's added."""
        is_same = bool(self.results) and self.results[-1].stage == result.stage
        kept = self.results[:-1] if is_same else self.results
        return replace(self, results=(*kept, result))

    def to_json(self) -> Json:
        """As a JSON object."""
        return {**asdict(self), "results": [result.to_json() for result in self.results]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        results = tuple(StageResult.from_json(each) for each in document["results"])
        return cls(**{**_known(cls, document), "results": results})


@dataclass(frozen=True)
class Choice:
    """The winner, the stage it comes from, and why (a sentence)."""

    outcome: TrialOutcome
    stage: Stage
    why: str


def choose(results: Sequence[StageResult]) -> Choice | None:
    """Among the finalists of all stages, or those that came furthest where time left none: those within one standard
    error of the best accuracy cannot be told apart by it, so of these the one with the lowest loss; then the first
    tried. None when none is usable.
    """
    finalists = [(outcome, result.stage) for result in results for outcome in result.finalists]
    finalists = finalists or [(outcome, result.stage) for result in results for outcome in result.furthest]
    if not finalists:
        return None
    best, _ = max(finalists, key=lambda each: each[0].accuracy)
    alike = [each for each in finalists if each[0].accuracy >= best.accuracy - best.standard_error]
    outcome, stage = min(alike, key=lambda each: each[0].loss)
    return Choice(outcome, stage, _why(outcome, len(alike), len(finalists)))


def _why(winner: TrialOutcome, alike: int, finalists: int) -> str:
    figures = f"accuracy {winner.accuracy:.4f}, loss {winner.loss:.4f} on {winner.judged} samples it was not trained on"
    if finalists == 1:
        return f"It alone came to its last epoch: {figures}."
    if alike == 1:
        return f"No other of {finalists} finalists came within a standard error of its accuracy: {figures}."
    alikes = f"{alike} of {finalists} finalists were equally accurate within a standard error"
    return f"{alikes}; it had the lowest loss: {figures}."


def _known(model: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    names = {each.name for each in fields(model)}
    return {name: value for name, value in document.items() if name in names}
