"""The broker's jars: those of KAFKA_HOME, or fetched once by Maven and shared by all clones of one user."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from infra.local.errors import StackError

POM = Path(__file__).parent.parent / "kafka" / "pom.xml"
OLDEST_KAFKA = (4, 0)
FETCH_SECONDS = 600


def ensure_jars(environment: Mapping[str, str] = os.environ, pom: Path = POM) -> list[Path]:
    """The jars of the class path, sorted; fetched at the first call (about 20 s), at once afterwards.

    Raises StackError when KAFKA_HOME holds no broker, or when there is neither KAFKA_HOME nor Maven.
    """
    home = environment.get("KAFKA_HOME")
    if home:
        return _jars_of_distribution(Path(home))
    folder = jar_folder(pom)
    if not folder.is_dir():
        _fetch(pom, folder, environment)
    return sorted(folder.glob("*.jar"))


def jar_folder(pom: Path = POM) -> Path:
    """Where the jars of this pom are kept; another version or another dependency is another folder."""
    text = pom.read_text(encoding="utf-8")
    version = re.search(r"<kafka\.version>([\w.-]+)</kafka\.version>", text)
    if version is None:
        raise StackError(str(pom), "it names no kafka.version", "restore the file from the repository")
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return Path(platformdirs.user_cache_dir("easyloop")) / f"kafka-{version.group(1)}-{digest}"


def _jars_of_distribution(home: Path) -> list[Path]:
    jars = sorted((home / "libs").glob("*.jar"))
    versions = [match for jar in jars if (match := re.fullmatch(r"kafka_2\.13-(\d+)\.(\d+)\.\d+\.jar", jar.name))]
    if not versions:
        reason = "it holds no libs/kafka_2.13-*.jar"
        raise StackError(f"KAFKA_HOME={home}", reason, "point it at an unpacked Kafka, or unset it")
    version = (int(versions[0].group(1)), int(versions[0].group(2)))
    if version < OLDEST_KAFKA:
        reason = f"its version {version[0]}.{version[1]} is too old"
        raise StackError(f"KAFKA_HOME={home}", reason, "use 4.0 or newer, or unset it")
    return jars


def _fetch(pom: Path, folder: Path, environment: Mapping[str, str]) -> None:
    maven = shutil.which("mvn", path=environment.get("PATH"))
    if maven is None:
        raise StackError(
            "Apache Kafka",
            "Maven (mvn), which fetches it, is not on the PATH, and KAFKA_HOME is not set",
            "install Maven, or unpack Kafka 4 from kafka.apache.org and set KAFKA_HOME",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".kafka-") as scratch:
        target = Path(scratch) / "jars"
        _run_maven([maven, "-B", "-q", "-f", str(pom), "dependency:copy-dependencies",
                    "-DincludeScope=runtime", f"-DoutputDirectory={target}"])  # fmt: skip
        try:
            target.rename(folder)
        except OSError:
            # Another start was faster; its folder is as good.
            if not folder.is_dir():
                raise


def _run_maven(command: list[str]) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=FETCH_SECONDS)
    except subprocess.CalledProcessError as error:
        errors = [line for line in (error.stdout + error.stderr).splitlines() if "ERROR" in line]
        raise StackError(
            "Apache Kafka",
            "Maven could not fetch its jars",
            "check the network or Maven's settings.xml (mirror, proxy) and start again",
            "\n".join(errors[:6]),
        ) from error
    except subprocess.TimeoutExpired as error:
        reason = f"Maven did not fetch its jars within {FETCH_SECONDS} s"
        raise StackError("Apache Kafka", reason, "check the network and start again") from error
