"""Prints new secrets for docker-compose.yml: `python3 infra/docker/new_secrets.py > .env`. Needs only Python itself."""

import base64
import secrets
import sys
import uuid

# Hexadecimal, so that they need no escaping in addresses; in the form that each server wants.
HEX_BYTES = {
    "ADMIN_KEY": 24,
    "MONGO_PASSWORD": 24,
    "MONGO_KEYFILE": 48,
    "S3_ACCESS_KEY": 10,
    "S3_SECRET_KEY": 24,
    "S3_SSE_KEK": 32,
    "S3_JWT_KEY": 32,
    "S3_JWT_READ_KEY": 32,
    "S3_JWT_FILER_KEY": 32,
    "S3_JWT_FILER_READ_KEY": 32,
    "RAY_TOKEN": 32,
}


def new_secrets() -> dict[str, str]:
    """Name -> value, of every variable that docker-compose.yml demands and compose.env does not give."""
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return {name: secrets.token_hex(size) for name, size in HEX_BYTES.items()} | {"KAFKA_CLUSTER_ID": cluster}


def main() -> int:
    """One line a secret."""
    sys.stdout.write("# Secrets of this installation: keep them, and keep them to yourself.\n")
    sys.stdout.writelines(f"{name}={value}\n" for name, value in new_secrets().items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
