"""What the C library does with memory that is freed."""

import ctypes
import sys

M_MMAP_THRESHOLD = -3  # malloc.h of glibc
LARGE_BYTES = 4 << 20


def return_large_buffers() -> None:
    """Buffers of 4 MB and more go back to the system when they are freed; called once, at the start of a process.

    By itself glibc keeps them, once such sizes are freed often, for each thread that ever held one (mallopt(3)). A
    service that passes files on would so grow by its largest files times its threads. Other C libraries return them.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
