"""An exported bundle computes what the training computed, and is refused once changed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from learning.backbones.description import DEFAULT_BACKBONE
from learning.errors import ArtefactInvalidError, SampleRejected
from learning.image_classification.calibration import softmax
from learning.image_classification.extraction import extract_features
from learning.image_classification.features import load_features
from learning.image_classification.head_weights import HeadKind
from learning.image_classification.model_file import ImageModel
from learning.image_classification.plugin import ImageClassification
from learning.image_classification.reading import decode_square
from learning.image_classification.views import decoded_side, make_view
from learning.task import Calibration, ClassInfo, Prediction, Score, Truth
from tests.unit.learning.heads import made_head
from tests.unit.learning.pictures import encoded, noise, stored_samples

CLASSES = [ClassInfo("blue", "Bläulich"), ClassInfo("red", "红色"), ClassInfo("green", "Green")]
CALIBRATION = Calibration(temperature=1.7, threshold=0.4)
TASK = ImageClassification()


@pytest.fixture(scope="module", params=[("linear", False), ("cosine", True), ("mlp", True)])
def exported(request: pytest.FixtureRequest, backbones: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    kind, is_mirrored = request.param
    out = tmp_path_factory.mktemp("export") / f"bundle-{kind}"
    head = made_head(kind, is_mirrored, dimensions=1280)
    TASK.export(ImageModel(DEFAULT_BACKBONE, head).to_bytes(), CLASSES, CALIBRATION, backbones, out)
    return out


def head_of(bundle: Path) -> tuple[HeadKind, bool]:
    described = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))["head"]
    return described["kind"], described["averages_mirror_image"]


def test_scores_are_those_of_the_head_on_the_features_of_training(
    exported: Path, backbone: Path, tmp_path: Path
) -> None:
    kind, is_mirrored = head_of(exported)
    samples = stored_samples(tmp_path, 3)
    recipe = {"precision": "int8", "views": 2, "seed": 0}
    shards = list(extract_features(samples, recipe, backbone, lambda _: None, tmp_path))
    labels = {sample.sha: sample.labels for sample in samples}
    features = load_features(shards, labels, ["blue", "red"], recipe)
    head = made_head(kind, is_mirrored, dimensions=1280)
    expected = softmax(head.logits_of_views(features.values), CALIBRATION.temperature)
    predictor = TASK.load_predictor(exported)
    predictor.warm_up()
    predictions = predictor.predict([sample.path.read_bytes() for sample in samples])
    order = [each.id for each in CLASSES]
    for row, prediction in zip(expected, predictions, strict=True):
        scores = {score.class_id: score.score for score in prediction.scores}
        assert np.allclose([scores[class_id] for class_id in order], row, atol=0.02)
        assert prediction.best.score == max(scores.values())
        assert sum(scores.values()) == pytest.approx(1, abs=1e-5)


def test_the_paddle_model_agrees_roughly_with_the_int8_one(exported: Path) -> None:
    import paddle

    raw = encoded(noise(300, 200), "JPEG")
    picture = make_view(decode_square(raw, "x", decoded_side(224)), 224, "0" * 16, 0, 0)
    model = paddle.jit.load(str(exported / "paddle" / "model"))
    model.eval()
    both = paddle.to_tensor(np.stack([picture, picture[::-1]]))
    scores = model(both).numpy()
    assert scores.shape == (2, 3)
    (prediction,) = TASK.load_predictor(exported).predict([raw])
    assert {s.class_id: s.score for s in prediction.scores}[CLASSES[int(scores[0].argmax())].id] > 0.2


def test_the_manifest_names_classes_calibration_and_all_files(exported: Path) -> None:
    manifest = TASK.load_predictor(exported).manifest
    assert manifest.classes == tuple(CLASSES)
    assert manifest.calibration == CALIBRATION
    assert set(manifest.files) == {
        "model.onnx", "model-fp32.onnx", "paddle/model.json", "paddle/model.pdiparams",
    }  # fmt: skip
    assert manifest.document["preprocessing"]["input"]["shape"] == [-1, 224, 224, 3]


def test_a_bad_picture_is_refused_by_its_position(exported: Path) -> None:
    with pytest.raises(SampleRejected, match="picture 2"):
        TASK.load_predictor(exported).predict([encoded(noise(30, 30), "PNG"), b"junk"])


def test_a_changed_bundle_is_refused(exported: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in exported.rglob("*"):
        if path.is_file():
            target = copy / path.relative_to(exported)
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(path.read_bytes())
    (copy / "model.onnx").write_bytes((copy / "model.onnx").read_bytes()[:-1])
    with pytest.raises(ArtefactInvalidError, match=r"model\.onnx"):
        TASK.load_predictor(copy)
    (copy / "manifest.json").write_text("{}")
    with pytest.raises(ArtefactInvalidError):
        TASK.load_predictor(copy)


def test_an_export_with_other_classes_leaves_nothing_behind(backbones: Path, tmp_path: Path) -> None:
    model = ImageModel(DEFAULT_BACKBONE, made_head("linear"))
    with pytest.raises(ArtefactInvalidError) as caught:
        TASK.export(model.to_bytes(), CLASSES[:2], CALIBRATION, backbones, tmp_path / "out")
    assert caught.value.code == "classes_differ"
    assert list(tmp_path.iterdir()) == []


def test_a_settled_bundle_serves_what_was_chosen_and_carries_its_card(exported: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "settled"
    shutil.copytree(exported, bundle)
    assert TASK.precisions(bundle) == ("int8", "fp32")
    sure = Prediction(
        tuple(Score(each.id, each.name, score) for each, score in zip(CLASSES, (0.8, 0.1, 0.1), strict=True))
    )
    truths = [Truth(f"s{n}", ("blue" if n else "red",)) for n in range(10)]
    report = TASK.evaluate(CLASSES, truths, [sure] * 10, CALIBRATION.threshold)
    report["precision"] = {"served": "fp32", "accuracies": {"int8": 0.8, "fp32": 0.9}, "sample_count": 10}
    for _ in range(2):  # another attempt finds what the first one wrote
        TASK.settle(bundle, "fp32", report)
        contents = {path.name: path.read_bytes() for path in bundle.iterdir() if path.is_file()}
    assert TASK.load_predictor(bundle).manifest.document["served"] == "fp32"
    card = json.loads(contents["model_card.json"])
    assert card["metrics"]["accuracy"] == report["accuracy"] == 0.9
    assert card["limits"] == [finding["sentence"] for finding in report["findings"]]
    text = contents["MODEL_CARD.md"].decode()
    low, high = report["accuracy_interval"]
    assert (
        f"Accuracy: 90.0% on 10 pictures that it was not trained on (95 % confidence: {low:.1%} to {high:.1%})" in text
    )
    assert "| 红色 | 1 |" in text
    assert "int8 80.0%, fp32 90.0%" in text
    assert "Only 10 pictures were held out" in text


def test_both_precisions_give_vectors_that_compare_alike(exported: Path, tmp_path: Path) -> None:
    contents = [encoded(noise(90, 60, seed=seed), "PNG") for seed in range(3)]
    for precision in TASK.precisions(exported):
        predictor = TASK.load_predictor(exported, precision=precision)
        found = predictor.predict_with_vectors(contents)
        assert [prediction for prediction, _ in found] == predictor.predict(contents)
        assert {vector.shape for _, vector in found} == {(1280,)}
