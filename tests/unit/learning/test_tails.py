"""Tails: matrices compute what the layers do, learn, and resume exactly."""

from pathlib import Path

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from learning.backbones.efficientnet_lite import VARIANTS, cuts
from learning.errors import ArtefactInvalidError, PlanImpossibleError
from learning.image_classification.model_file import model_from_bytes
from learning.image_classification.tail_layers_runner import LayerTail
from learning.image_classification.tail_matrix_runner import MatrixTail, toeplitz_spread
from learning.image_classification.tail_weights import multiplications, pretrained_tail
from learning.image_classification.training import run_fit, run_trial, start_training
from learning.study import Candidate
from tests.unit.learning.maps import BACKBONE, PLACE, made_maps

TAIL: Candidate = {"tail": PLACE}


def some_maps(backbone: str, place: str, count: int = 2) -> NDArray[np.float32]:
    size = cuts(VARIANTS[backbone])[place].size
    return np.random.default_rng(0).normal(size=(count, size)).astype(np.float32)


@pytest.mark.parametrize("backbone", VARIANTS)
@pytest.mark.parametrize("place", ["6.1", "6.2", "7.1"])
def test_matrices_compute_what_the_layers_do(backbone: str, place: str) -> None:
    start = pretrained_tail(backbone, place)
    maps = paddle.to_tensor(some_maps(backbone, place))
    by_layers, by_matrices = (network(start)(maps).numpy() for network in (LayerTail, MatrixTail))
    assert by_layers.shape == (2, 1280)
    assert np.abs(by_layers - by_matrices).max() < 1e-3


def test_both_forms_learn_the_same() -> None:
    start = pretrained_tail(BACKBONE, "6.1")
    maps = paddle.to_tensor(some_maps(BACKBONE, "6.1"))
    trained = []
    for network in (LayerTail(start), MatrixTail(start)):
        optimizer = paddle.optimizer.SGD(0.05, parameters=network.parameters())
        network(maps).square().mean().backward()
        optimizer.step()
        trained.append(network.weights())
    for name, layer in trained[0].layers.items():
        other = trained[1].layers[name]
        assert layer.kernel.shape == other.kernel.shape
        assert np.abs(layer.kernel - other.kernel).max() < 2e-3, name
        assert np.abs(layer.bias - other.bias).max() < 2e-3, name
    assert any(
        np.abs(layer.kernel - start.layers[name].kernel).max() > 1e-4 for name, layer in trained[0].layers.items()
    )


@pytest.mark.parametrize(("kernel", "stride", "side"), [(3, 1, 4), (5, 1, 7), (5, 2, 14), (5, 2, 15), (3, 2, 8)])
def test_the_toeplitz_matrix_convolves(kernel: int, stride: int, side: int) -> None:
    random = np.random.default_rng(0)
    picture, cells = random.normal(size=(side, side)), random.normal(size=(kernel, kernel))
    out = -(-side // stride)
    matrix = (cells.reshape(1, -1) @ toeplitz_spread(kernel, stride, side)).reshape(side * side, out * out)
    found = (picture.reshape(1, -1) @ matrix).reshape(out, out)
    padded = np.pad(picture, kernel // 2)
    for y in range(out):
        for x in range(out):
            window = padded[y * stride : y * stride + kernel, x * stride : x * stride + kernel]
            assert np.isclose(found[y, x], (window * cells).sum(), atol=1e-5)


def test_a_tail_learns_what_no_head_behind_it_was_told(tmp_path: Path) -> None:
    reports = list(run_trial({**TAIL, "folds": 4, "judged_folds": 1}, 3, 0, made_maps(tmp_path, 40), "cpu"))
    assert reports[-1].accuracy > 0.9
    assert reports[-1].judged >= 24


@pytest.mark.parametrize("more", [{}, {"averaging": 0.9}, {"mixup": 0.2}])
def test_a_resumed_fit_ends_where_an_unbroken_one_does(tmp_path: Path, more: Candidate) -> None:
    data = made_maps(tmp_path, 12)
    steps = list(run_fit({**TAIL, **more}, 3, 5, data, None, "cpu"))
    resumed = list(run_fit({**TAIL, **more}, 3, 5, data, steps[0].checkpoint, "cpu"))
    assert [step.epoch for step in resumed] == [2, 3]
    assert resumed[-1].model == steps[-1].model


def test_the_seed_decides(tmp_path: Path) -> None:
    data = made_maps(tmp_path, 12)

    def fitted(seed: int) -> bytes:
        *_, last = run_fit(TAIL, 1, seed, data, None, "cpu")
        return last.model

    assert fitted(1) == fitted(1) != fitted(2)


def test_the_model_holds_the_tail_the_head_and_maps_for_quantising(tmp_path: Path) -> None:
    data = made_maps(tmp_path, 4)
    *_, last = run_fit({**TAIL, "mirror": False}, 1, 0, data, None, "cpu")
    model = model_from_bytes(last.model)
    assert model.tail is not None
    assert (model.backbone, model.tail.place, model.head.kind, model.head.is_mirrored) == (
        BACKBONE, PLACE, "linear", False,
    )  # fmt: skip
    assert model.maps.shape == (12, model.tail.cut.size)
    assert set(model.tail.layers) == {"blocks.15.expand", "blocks.15.depthwise", "blocks.15.project", "head"}


def test_without_mirror_only_even_views_are_trained_on(tmp_path: Path) -> None:
    data = made_maps(tmp_path, 12, views=2)
    assert data.maps is not None
    seen: list[int] = []

    maps = data.maps

    class Watched:
        rows = maps.rows

        def batch(self, pictures: NDArray[np.int64], views: NDArray[np.int64]) -> NDArray[np.float32]:
            seen.extend(views.tolist())
            return maps.batch(pictures, views)

    watched = type(data)(data.values, data.targets, data.shas, data.class_ids, data.recipe, Watched())  # type: ignore[arg-type]  # counts what is asked for
    start_training({**TAIL, "mirror": False}, 1, 0, watched, "cpu").run_epoch()
    assert set(seen) == {0}


def test_averaged_weights_are_those_that_are_judged_and_kept(tmp_path: Path) -> None:
    data = made_maps(tmp_path, 24)
    slow = start_training({**TAIL, "averaging": 0.999}, 1, 0, data, "cpu")
    fast = start_training(TAIL, 1, 0, data, "cpu")
    assert slow.run_epoch() == fast.run_epoch()
    assert not np.allclose(slow.logits(data), fast.logits(data), atol=1e-3)
    assert np.array_equal(slow.logits(data), slow.logits(data))


def test_a_place_where_nothing_can_be_cut_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanImpossibleError, match="6\\.1"):
        list(run_fit({"tail": "2.1"}, 1, 0, made_maps(tmp_path, 2), None, "cpu"))


def test_features_without_maps_are_refused(tmp_path: Path) -> None:
    data = made_maps(tmp_path, 2)
    bare = type(data)(data.values, data.targets, data.shas, data.class_ids, data.recipe)
    with pytest.raises(ArtefactInvalidError) as caught:
        list(run_fit(TAIL, 1, 0, bare, None, "cpu"))
    assert caught.value.code == "maps_missing"


def test_deeper_tails_and_larger_backbones_cost_more() -> None:
    lite0, lite2 = VARIANTS["efficientnet-lite0"], VARIANTS["efficientnet-lite2"]
    costs = [multiplications(lite0, place) for place in ("7.1", "6.2", "6.1", "5.1")]
    assert costs == sorted(costs)
    assert multiplications(lite2, "6.1") > 2 * multiplications(lite0, "6.1")
