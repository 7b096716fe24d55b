"""Training goes to the device that is asked for; which one that is, is asked once, through the port."""

import paddle
import pytest

from learning.device import choose_device
from learning.registry import get_task
from tests.unit.learning.test_training import made

CUDA_BUILD = paddle.is_compiled_with_cuda()


def test_the_device_is_a_gpu_exactly_where_paddle_finds_one() -> None:
    found = CUDA_BUILD and paddle.device.cuda.device_count() > 0
    assert choose_device() == ("gpu" if found else "cpu")


@pytest.mark.skipif(CUDA_BUILD, reason="this build of Paddle can train on a GPU")
def test_a_build_without_cuda_refuses_the_gpu_that_was_asked_for() -> None:
    with pytest.raises(ValueError, match="gpu"):
        next(get_task("image_classification", "gpu").fit({"head": "linear"}, 1, 0, made(30, 0.3, 1), None))
