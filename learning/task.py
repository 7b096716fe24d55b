"""The port of a task type: what the services know of machine learning.

Services pass opaque bytes, local paths, labels (lists of class ids) and JSON plans; whatever is special
to images, sound or text stays behind `TaskPlugin`. Every value here can be pickled; those with `to_json`
can travel in events and documents.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from learning.study import Candidate, End, Json, Stage, StudyState

Progress: TypeAlias = Callable[[float], None]
"""Called with the finished fraction, 0 to 1, never decreasing."""

Vector: TypeAlias = NDArray[np.float32]
"""What a sample is compared with others by, [D]."""

Work: TypeAlias = Literal["study", "training", "evaluation"]
"""What a process does with a task type."""

Preset: TypeAlias = Literal["fast", "balanced", "accurate"]


@dataclass(frozen=True)
class Prepared:
    """One accepted file, fully decoded once, so that nothing later can fail on it.

    `content` is what is stored and trained on: the original bytes where they are fit as they are, otherwise
    re-encoded (`notes` says what was changed, one sentence each). `fingerprint` is equal or close
    (Hamming distance of the hexadecimal number) for near duplicates; empty where the task has none.
    `width` and `height` are pixels, 0 for tasks without pictures. `thumbnail` is a JPEG or empty.
    """

    content: bytes
    media_type: str
    width: int
    height: int
    notes: tuple[str, ...]
    thumbnail: bytes
    fingerprint: str = ""


@dataclass(frozen=True)
class ClassInfo:
    """A class: `id` never changes and is what labels and models carry; `name` is what people read."""

    id: str
    name: str


@dataclass(frozen=True)
class LabelledSample:
    """A sample whose content lies in the local file `path`; `labels` are class ids, possibly several."""

    sha: str
    path: Path
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """What a check found in a data set; an error makes the version unusable, a warning or an info does not.

    `count` is how many classes or files it is about, `share` their part of all (0 to 1), `examples` a few of their
    names; `remedy` says what to do and is empty where there is nothing to be done.
    """

    code: str
    severity: Literal["error", "warning", "info"]
    sentence: str
    remedy: str = ""
    count: int = 0
    share: float = 0.0
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities: logits are divided by `temperature`; below `threshold` a
    prediction counts as doubtful. Both were fitted on samples that the model was not trained on.
    """

    temperature: float
    threshold: float

    def to_json(self) -> Json:
        """The calibration as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class TrialReport:
    """How a candidate does after `epoch` (from 1). accuracy and loss are of `judged` samples it was not trained on."""

    epoch: int
    accuracy: float
    loss: float
    calibration: Calibration
    judged: int = 0

    def to_json(self) -> Json:
        """Flat numbers for a scheduler: epoch, accuracy, loss, judged, temperature, threshold."""
        numbers = {"epoch": self.epoch, "accuracy": self.accuracy, "loss": self.loss, "judged": self.judged}
        return {**numbers, **self.calibration.to_json()}


@dataclass(frozen=True)
class FitStep:
    """A point of the final fit. `checkpoint` resumes it exactly; `model` is empty but in the last step."""

    epoch: int
    fraction: float
    metrics: dict[str, float]
    checkpoint: bytes
    model: bytes = b""


@dataclass(frozen=True)
class Score:
    """How strongly a prediction speaks for one class, 0 to 1."""

    class_id: str
    name: str
    score: float


@dataclass(frozen=True)
class Prediction:
    """Scores of one sample, best first, over all classes; they sum to 1 for exclusive classes."""

    scores: tuple[Score, ...]

    @property
    def best(self) -> Score:
        """The class the model would choose."""
        return self.scores[0]


@dataclass(frozen=True)
class Truth:
    """What a test sample really is."""

    sha: str
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What test samples are compared with: their vectors, float32 [N, D], as predictors give them; the file that
    `TaskPlugin.write_evidence` wrote; the hashes of those that are nearly the same as a training sample.
    """

    vectors: NDArray[np.float32]
    evidence: Path
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class BundleManifest:
    """What an exported folder holds; `document` is the content of its manifest.json.

    files: path relative to the folder -> sha256 of each file, manifest.json itself excepted.
    """

    task: str
    classes: tuple[ClassInfo, ...]
    calibration: Calibration
    files: dict[str, str] = field(default_factory=dict)
    document: Json = field(default_factory=dict)


@runtime_checkable
class FeatureSet(Protocol):
    """Samples as the training sees them. Opaque to services but for what stands here. Picklable."""

    @property
    def shas(self) -> tuple[str, ...]:
        """The samples, in order, each once."""

    def subset(self, shas: Sequence[str]) -> "FeatureSet":
        """Only these samples, in the order asked for; a sha that is not here is left out."""


class Predictor(Protocol):
    """A loaded model. Safe to use from several threads at once."""

    manifest: BundleManifest

    def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
        """One prediction a content, in order. Raises SampleRejected for the first one that cannot be read."""

    def warm_up(self) -> None:
        """Run once on made-up input, so that the first caller does not pay for what runtimes put off until then."""


class ComparingPredictor(Predictor, Protocol):
    """One that also gives what samples are compared with others by."""

    def predict_with_vectors(self, contents: Sequence[bytes]) -> list[tuple[Prediction, Vector]]:
        """As `predict`; each with its vector, which is empty where the bundle has none."""


class TaskPlugin(Protocol):
    """A task type: how to read its samples, train, judge, export and use its models.

    `read`, `check`, `next_stage`, `evaluate` and predictors need no Paddle; `features` needs ONNX Runtime
    only; `train_trial`, `fit` and `export` import Paddle, whose environment variables (MKL_DEBUG_CPU_TYPE=5,
    OMP_NUM_THREADS) the caller sets before, and which must first be imported in the main thread.
    """

    name: str

    def preload(self, work: Work) -> None:
        """Import the libraries that this work will need: a process that waits for work may as well."""

    def accepts(self, filename: str) -> bool:
        """Whether the extension says that the file is worth reading as a sample."""

    def read(self, raw: bytes, filename: str) -> Prepared:
        """Decode the whole file. Raises SampleRejected, whose sentence begins with `filename`."""

    def check(self, class_counts: Mapping[str, int]) -> list[Finding]:
        """Judge a data set by its samples a class (keyed by class name, for the sentences)."""

    def probe(self, backbones: Path) -> Json:
        """How fast this machine is at what a study consists of; a second or two, and the time that a missing backbone
        takes to build. Raises ArtefactInvalidError.
        """

    def next_stage(self, state: StudyState) -> Stage | End:
        """What to try next within the budget. Pure: equal states, equal answers. Raises PlanImpossibleError."""

    def prepare(self, recipe: Json, backbones: Path) -> dict[str, str]:
        """Build, below the folder `backbones`, what the recipe needs and is not there yet; its files' hashes by name.

        Raises ArtefactInvalidError for a damaged or unknown backbone.
        """

    def features(
        self, samples: Sequence[LabelledSample], recipe: Json, backbones: Path, progress: Progress, out: Path
    ) -> Iterator[Path]:
        """Compute features by the recipe, after `prepare`: finished files (shards) in the folder `out`, one by one.

        Deterministic. Raises SampleRejected for a file that cannot be decoded, ArtefactInvalidError for a bad backbone.
        """

    def load_features(
        self, shards: Sequence[Path], labels: Mapping[str, tuple[str, ...]], class_ids: Sequence[str], recipe: Json
    ) -> FeatureSet:
        """Of what `features` wrote those samples that `labels` (by sha) names, in its order, as far as they are there.

        Large parts stay on the disk: the shards must live as long as the set. Raises ArtefactInvalidError.
        """

    def train_trial(self, candidate: Candidate, epochs: int, seed: int, features: FeatureSet) -> Iterator[TrialReport]:
        """Train one candidate; judged on samples held out. With rivals, one report an epoch, so that a scheduler
        can stop it; the last epoch is always reported.
        """

    def fit(
        self, candidate: Candidate, epochs: int, seed: int, features: FeatureSet, resume: bytes | None
    ) -> Iterator[FitStep]:
        """Train the winner on train + validation; `resume` is an earlier checkpoint of the same call."""

    def export(
        self,
        model: bytes,
        classes: Sequence[ClassInfo],
        calibration: Calibration,
        backbones: Path,
        out: Path,
    ) -> BundleManifest:
        """Write the bundle into the new folder `out`. `classes` are in the order of `class_ids` above."""

    def load_predictor(self, bundle: Path, threads: int = 1, precision: str | None = None) -> ComparingPredictor:
        """Load a bundle, verified against its manifest, in the precision that it says is to be served unless another
        of its own is asked for. Raises ArtefactInvalidError. Needs no Paddle.
        """

    def write_evidence(self, features: FeatureSet, candidate: Candidate, path: Path) -> None:
        """Write into one file what an honest evaluation needs to know of the samples that `candidate` was fitted on."""

    def precisions(self, bundle: Path) -> tuple[str, ...]:
        """In which its model can be loaded, the fastest first. Raises ArtefactInvalidError."""

    def evaluate(
        self,
        classes: Sequence[ClassInfo],
        truths: Sequence[Truth],
        predictions: Sequence[Prediction],
        threshold: float,
        comparison: Comparison | None = None,
    ) -> Json:
        """The report on a test set as JSON; its shape is documented by the plug-in. Raises ArtefactInvalidError for
        damaged evidence.
        """

    def settle(self, bundle: Path, served: str, report: Json) -> None:
        """Complete the folder `bundle`: say which precision is served, add the model card. Deterministic."""
