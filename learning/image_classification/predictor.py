"""Use a bundle with ONNX Runtime alone. Safe from several threads at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from learning.image_classification.bundle import model_path, read_manifest
from learning.image_classification.extraction import open_session
from learning.image_classification.reading import decode_square
from learning.image_classification.views import decoded_side, make_view
from learning.task import Prediction, Score

_BATCH = 4  # pictures a call of the network: larger ones fall out of the cache
_NO_SHA = "0" * 64  # view 0 does not depend on it


class ImagePredictor:
    """Holds the session; nothing in it changes after construction."""

    def __init__(self, bundle: Path, threads: int, precision: str | None = None) -> None:
        self.manifest = read_manifest(bundle)
        self._resolution: int = self.manifest.document["preprocessing"]["input"]["shape"][1]
        self._session = open_session(model_path(bundle, self.manifest, precision), threads)
        self._has_vector = "vector" in [output.name for output in self._session.get_outputs()]

    def predict(self, contents: Sequence[bytes]) -> list[Prediction]:
        """One prediction a picture, in order. Raises SampleRejected, naming its position, for the first bad one."""
        return [self._prediction(scores) for (scores,) in self._outputs(contents, ["scores"])]

    def predict_with_vectors(self, contents: Sequence[bytes]) -> list[tuple[Prediction, NDArray[np.float32]]]:
        """As `predict`, each with what the picture is compared by (see `evidence`); empty in bundles without it."""
        if not self._has_vector:
            return [(prediction, np.zeros(0, np.float32)) for prediction in self.predict(contents)]
        return [(self._prediction(scores), vector) for scores, vector in self._outputs(contents, ["scores", "vector"])]

    def warm_up(self) -> None:
        """One black picture through the network."""
        side = self._resolution
        self._session.run(["scores"], {"pictures": np.zeros((1, side, side, 3), np.uint8)})

    def _outputs(self, contents: Sequence[bytes], names: list[str]) -> Iterator[tuple[NDArray[np.float32], ...]]:
        """Of each picture, one row of each output; nothing is computed before all could be read."""
        pictures = [self._picture(raw, f"picture {at}") for at, raw in enumerate(contents, start=1)]
        for start in range(0, len(pictures), _BATCH):
            found = self._session.run(names, {"pictures": np.stack(pictures[start : start + _BATCH])})
            yield from zip(*found, strict=True)

    def _picture(self, raw: bytes, name: str) -> NDArray[np.uint8]:
        square = decode_square(raw, name, decoded_side(self._resolution))
        return make_view(square, self._resolution, _NO_SHA, 0, 0)

    def _prediction(self, scores: NDArray[np.float32]) -> Prediction:
        classes = self.manifest.classes
        order = np.argsort(-scores, kind="stable")
        return Prediction(tuple(Score(classes[i].id, classes[i].name, float(scores[i])) for i in order))
