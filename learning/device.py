"""Where training runs, as a port: the caller passes a device name, nobody else asks Paddle for one."""

from typing import Literal, TypeAlias

Device: TypeAlias = Literal["cpu", "gpu"]


def choose_device() -> Device:
    """ "gpu" where Paddle is built for CUDA and a card is there, otherwise "cpu". Imports Paddle."""
    import paddle  # only who asks pays for the import

    if paddle.is_compiled_with_cuda() and paddle.device.cuda.device_count() > 0:
        return "gpu"
    return "cpu"
