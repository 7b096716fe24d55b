"""Finding a Java runtime that can run the broker."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from infra.local.errors import StackError

OLDEST = 17
REMEDY = f"install a Java runtime of version {OLDEST} or newer, or set JAVA_HOME to one"


@dataclass(frozen=True)
class Java:
    """`version` is the whole version text; an archive of classes fits exactly one of them."""

    executable: str
    version: str


def major_version(text: str) -> int | None:
    """The major version in what `java -version` prints; None when it names none."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match.group(1))
    # Up to Java 8 the versions were written 1.x.
    return int(match.group(2) or 0) if major == 1 else major


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The runtime of JAVA_HOME, else the one on the path; StackError when there is none or it is too old."""
    home = environment.get("JAVA_HOME")
    executable = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH"))
    if executable is None:
        raise StackError("java", "it is not installed (not on the PATH, and JAVA_HOME is not set)", REMEDY)
    try:
        answer = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise StackError(executable, f"it does not run ({error})", REMEDY) from error
    text = answer.stderr + answer.stdout
    major = major_version(text)
    if major is None or major < OLDEST:
        raise StackError(executable, f"its version is {major or 'unknown'}", REMEDY)
    return Java(executable, " ".join(text.split()))
