"""Ports of the local stack."""

import socket
from pathlib import Path

import pytest

from infra.local.errors import StackError
from infra.local.ports import GRPC_OFFSET, SEARCH_RANGE, choose_ports, is_free, load_ports, save_ports

NO_GRPC: frozenset[str] = frozenset()


def test_the_usual_port_is_taken_when_it_is_free() -> None:
    assert choose_ports({"kafka": 9092}, {}, NO_GRPC, free=lambda port: True) == {"kafka": 9092}


def test_a_remembered_port_comes_before_the_usual_one() -> None:
    assert choose_ports({"kafka": 9092}, {"kafka": 12_345}, NO_GRPC, free=lambda port: True) == {"kafka": 12_345}


def test_a_remembered_port_that_a_stranger_took_gives_way_to_the_usual_one() -> None:
    assert choose_ports({"kafka": 9092}, {"kafka": 12_345}, NO_GRPC, free=lambda port: port != 12_345) == {
        "kafka": 9092
    }


def test_another_port_is_found_when_the_usual_one_is_taken() -> None:
    chosen = choose_ports({"kafka": 9092}, {}, NO_GRPC, free=lambda port: port != 9092, seed=1)
    assert chosen["kafka"] in SEARCH_RANGE


def test_a_port_whose_grpc_twin_is_taken_is_not_used() -> None:
    chosen = choose_ports({"s3": 8333}, {}, frozenset({"s3"}), free=lambda port: port != 8333 + GRPC_OFFSET, seed=1)
    assert chosen["s3"] != 8333


def test_no_two_names_share_a_port_or_a_twin() -> None:
    usual = {"s3": 11_000, "twin": 11_000 + GRPC_OFFSET, "same": 11_000}
    chosen = choose_ports(usual, {}, frozenset({"s3"}), free=lambda port: True, seed=1)
    assert chosen["s3"] == 11_000
    assert len({chosen["s3"], chosen["s3"] + GRPC_OFFSET, chosen["twin"], chosen["same"]}) == 4


def test_a_machine_without_free_ports_is_reported() -> None:
    with pytest.raises(StackError, match="port for kafka: none is free"):
        choose_ports({"kafka": 9092}, {}, NO_GRPC, free=lambda port: False, seed=1)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - a stranger may listen everywhere
def test_a_port_on_which_somebody_listens_is_not_free(address: str) -> None:
    with socket.socket() as stranger:
        stranger.bind((address, 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)


def test_ports_are_remembered(tmp_path: Path) -> None:
    save_ports(tmp_path / "run" / "ports.json", {"kafka": 9092})
    assert load_ports(tmp_path / "run" / "ports.json") == {"kafka": 9092}


@pytest.mark.parametrize("content", ["", "[1]", '{"kafka": "9092", "s3": 70000, "mongo": 27017}'])
def test_a_damaged_memory_costs_only_what_is_damaged(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ports.json"
    path.write_text(content, encoding="utf-8")
    assert set(load_ports(path)) <= {"mongo"}
