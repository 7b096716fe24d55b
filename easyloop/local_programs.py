"""Which programs of the local stack answer, for when the gateway cannot be asked."""

import socket
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from easyloop.discovery import local_stack
from easyloop.operation_answers import Check

PATIENCE_S = 3.0
SERVERS = {"kafka": "bus", "mongo": "mongo", "s3": "s3"}
"""Their addresses in the stack's file, and what their logs are called."""


def examine(gateway_url: str) -> list[Check]:
    """Each server and service of the local stack that serves this very address; nothing for another platform."""
    stack = local_stack()
    if stack is None or str(stack.get("gateway_url")).rstrip("/") != gateway_url:
        return []
    return [*_servers(stack), *_services(stack)]


def _servers(stack: Mapping[str, Any]) -> Iterator[Check]:
    for name, log in SERVERS.items():
        address = urlsplit(stack[name] if "://" in stack[name] else f"//{stack[name]}")
        try:
            socket.create_connection((address.hostname or "", address.port or 0), PATIENCE_S).close()
        except OSError as error:
            yield _silent(stack, log, f"does not answer at {address.hostname}:{address.port} ({error})")
        else:
            yield Check(name=log, status="ok", found="takes connections")


def _services(stack: Mapping[str, Any]) -> Iterator[Check]:
    for name, url in stack["health"].items():
        try:
            answer = httpx.get(url, timeout=PATIENCE_S)
            waiting = "; ".join(answer.json().get("waiting_for", {}).values()) if answer.is_error else ""
        except (httpx.TransportError, ValueError) as error:  # ValueError: another program answers there
            yield _silent(stack, name, f"does not answer at {url} ({error or type(error).__name__})")
        else:
            yield Check(
                name=name,
                status="error" if answer.is_error else "ok",
                found=f"waits: {waiting}" if answer.is_error else "is ready",
                remedy="see the servers above" if answer.is_error else "",
            )


def _silent(stack: Mapping[str, Any], name: str, found: str) -> Check:
    remedy = f"make up starts what does not run; its log is {stack['logs']}/{name}.log"
    return Check(name=name, status="error", found=found, remedy=remedy)
