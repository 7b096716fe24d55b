"""What the local stack would start, and with which settings."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from chassis.setting_names import SETTING_NAMES
from infra.local.backbone import copy_whole, kept_backbone
from infra.local.errors import StackError
from infra.local.java import Java
from infra.local.kafka import KafkaRuntime
from infra.local.layout import Layout
from infra.local.program import Program
from infra.local.readiness import NotReadyError, wait_until_ready
from infra.local.stack import ALL_PORTS, Stack, fresh_ports, plan_stack
from infra.local.status import bus_in_words
from infra.local.tansu import TansuRuntime

BUS = KafkaRuntime(Java("java", "17"), (Path("/kafka.jar"),))


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    layout = Layout(tmp_path / "data")
    yield plan_stack(layout, ALL_PORTS)
    layout.short.rmdir()


@pytest.fixture
def programs(stack: Stack) -> Mapping[str, Program]:
    return {program.name: program for program in stack.write_settings(BUS)}


def test_every_program_has_a_check(stack: Stack, programs: Mapping[str, Program]) -> None:
    assert programs.keys() == stack.checks().keys()


def test_the_status_names_the_bus_that_the_start_chose(stack: Stack) -> None:
    assert bus_in_words(stack.layout) == ""
    stack.write_settings(BUS)
    assert bus_in_words(stack.layout) == "the bus is Apache Kafka"
    stack.write_settings(TansuRuntime(Path("/tansu")))
    assert bus_in_words(stack.layout).startswith("the bus is Tansu, which forgets its messages")


def test_every_setting_that_a_service_gets_exists(programs: Mapping[str, Program]) -> None:
    given = {name for program in programs.values() for name in program.environment if name.startswith("EASYLOOP_")}
    assert given <= SETTING_NAMES


def test_the_gateway_alone_gets_the_admin_key(stack: Stack, programs: Mapping[str, Program]) -> None:
    key = stack.servers.credentials.admin_key
    assert [name for name, each in programs.items() if key in each.environment.values()] == ["gateway"]


def test_only_ray_and_hpo_get_the_token_of_ray(stack: Stack, programs: Mapping[str, Program]) -> None:
    token = stack.servers.credentials.ray_token
    assert {name for name, each in programs.items() if token in each.environment.values()} == {"ray", "hpo"}


def test_no_secret_is_on_a_command_line(stack: Stack, programs: Mapping[str, Program]) -> None:
    words = " ".join(word for program in programs.values() for word in program.command)
    keys = stack.servers.credentials
    assert not [key for key in (keys.admin_key, keys.s3_secret_key, keys.ray_token, keys.s3_sse_kek) if key in words]


def test_files_with_secrets_are_for_the_owner_alone(stack: Stack, programs: Mapping[str, Program]) -> None:
    layout = stack.layout
    files = [layout.secrets_file, layout.supervisor_config, stack.servers.objects.folder / "s3.json"]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_the_address_file_holds_no_secret(stack: Stack) -> None:
    stack.write_addresses()
    text = stack.layout.stack_file.read_text(encoding="utf-8")
    assert stack.gateway_url in text
    assert stack.servers.credentials.admin_key not in text


def test_a_port_that_the_user_asked_for_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EASYLOOP_GATEWAY_PORT", "12399")
    assert fresh_ports(Layout(tmp_path))["gateway"] == 12_399


@pytest.mark.parametrize("port", ["http", "0", "70000"])
def test_what_is_no_port_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, port: str) -> None:
    monkeypatch.setenv("EASYLOOP_GATEWAY_PORT", port)
    with pytest.raises(StackError, match=f"EASYLOOP_GATEWAY_PORT={port}: it is not a port"):
        fresh_ports(Layout(tmp_path))


def test_a_server_is_ready_once_its_check_passes() -> None:
    refusals = [ConnectionError("not yet"), ConnectionError("not yet")]

    def check() -> None:
        if refusals:
            raise refusals.pop()

    times = iter(range(100))
    seconds = wait_until_ready(check, lambda: True, 60, clock=lambda: next(times), pause=lambda _: None)
    assert seconds == 3


def test_a_server_whose_process_ended_is_not_waited_for() -> None:
    def check() -> None:
        raise ConnectionError("refused")

    with pytest.raises(NotReadyError, match="its process ended"):
        wait_until_ready(check, lambda: False, 60, pause=lambda _: None)


def test_a_server_that_never_answers_is_given_up_with_its_last_refusal() -> None:
    def check() -> None:
        raise ConnectionError("no leader")

    times = iter(range(0, 1000, 30))
    with pytest.raises(NotReadyError, match=r"within 60 s \(no leader\)"):
        wait_until_ready(check, lambda: True, 60, clock=lambda: next(times), pause=lambda _: None)


def test_a_backbone_is_copied_whole_and_never_over_another(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "backbone.json").write_text(name, encoding="utf-8")
    copy_whole(tmp_path / "first", tmp_path / "data" / "backbones")
    copy_whole(tmp_path / "second", tmp_path / "data" / "backbones")
    assert (tmp_path / "data" / "backbones" / "backbone.json").read_text(encoding="utf-8") == "first"
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["backbones"]


def test_a_backbone_that_other_code_builds_is_kept_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "build.py").write_text("1", encoding="utf-8")
    before = kept_backbone(tmp_path)
    (tmp_path / "build.py").write_text("2", encoding="utf-8")
    assert kept_backbone(tmp_path) != before
