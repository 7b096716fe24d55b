"""Offsets and keys keep their order while the work on them overlaps."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from services.preprocess.key_order import KeyOrder
from services.preprocess.ordered_acks import OrderedAcks


@settings(deadline=None)
@given(st.permutations(range(6)))
def test_an_offset_is_released_only_after_all_before_it(order: list[int]) -> None:
    acks: OrderedAcks[int] = OrderedAcks()
    arrivals = [acks.arrived("p0", number) for number in range(6)]
    released: list[int] = []
    for count, number in enumerate(order, 1):
        released += acks.done("p0", arrivals[number])
        done = set(order[:count])
        assert released == [place for place in range(6) if set(range(place + 1)) <= done]


def test_partitions_do_not_wait_for_each_other() -> None:
    acks: OrderedAcks[str] = OrderedAcks()
    acks.arrived("p0", "never done")
    assert acks.done("p1", acks.arrived("p1", "done")) == ["done"]


async def test_work_of_one_key_is_done_in_turn_and_of_others_beside_it() -> None:
    order, events, both = KeyOrder(), list[str](), asyncio.Barrier(2)

    async def work(key: bytes, name: str, meet: bool) -> None:
        async with order.turn_of(key):
            events.append(f"{name} begins")
            if meet:
                await both.wait()
            events.append(f"{name} ends")

    await asyncio.gather(work(b"a", "a1", True), work(b"a", "a2", False), work(b"b", "b1", True))
    assert events.index("a1 ends") < events.index("a2 begins")
    assert order._locks == {}
