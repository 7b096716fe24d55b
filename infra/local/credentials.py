"""The secrets of a local stack: made once at random, kept in one file that only its owner reads."""

import json
import secrets
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from infra.local.atomic_file import PRIVATE, write_atomically
from infra.local.errors import StackError

ADMIN_KEY_PREFIX = "elk_"


@dataclass(frozen=True)
class Credentials:
    """`s3_sse_kek` is 64 hexadecimal digits (it encrypts the keys of encrypted objects); losing it loses them."""

    admin_key: str
    s3_access_key: str
    s3_secret_key: str
    s3_sse_kek: str
    jwt_write_key: str
    jwt_read_key: str
    jwt_filer_write_key: str
    jwt_filer_read_key: str
    ray_token: str


def make_credentials() -> Credentials:
    """Fresh ones, from the system's source of randomness."""
    return Credentials(
        admin_key=ADMIN_KEY_PREFIX + secrets.token_urlsafe(24),
        s3_access_key=secrets.token_hex(10),
        s3_secret_key=secrets.token_hex(20),
        s3_sse_kek=secrets.token_hex(32),
        jwt_write_key=secrets.token_hex(16),
        jwt_read_key=secrets.token_hex(16),
        jwt_filer_write_key=secrets.token_hex(16),
        jwt_filer_read_key=secrets.token_hex(16),
        ray_token=secrets.token_hex(32),
    )


def ensure_credentials(path: Path) -> Credentials:
    """Read the credentials, or make and store them; the file's mode is 0600 afterwards in either case.

    A damaged file is an error and never replaced: new secrets could not open the old data.
    """
    if not path.exists():
        made = make_credentials()
        write_atomically(path, json.dumps(asdict(made), indent=2) + "\n", PRIVATE)
        return made
    path.chmod(PRIVATE)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Credentials(**{each.name: str(stored[each.name]) for each in fields(Credentials)})
    except (ValueError, KeyError, TypeError) as error:
        raise StackError(
            str(path),
            f"the file of secrets cannot be read ({error!r})",
            "restore it from a copy, or delete the data folder to start empty",
        ) from error
