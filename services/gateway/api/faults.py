"""Turns every exception that can end a request into a problem document."""

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from chassis.blobs.ports import BlobDamaged, BlobMissing
from chassis.errors import TransientError
from services.gateway.api.problems import (
    ApiError,
    BodyStalled,
    BodyTooLarge,
    FieldFault,
    body_too_large,
    problem_response,
)
from services.gateway.writing import KeyReused

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Register the handlers below."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(BodyTooLarge, _body_too_large)
    app.add_exception_handler(BodyStalled, _body_stalled)
    app.add_exception_handler(TransientError, _unavailable)
    app.add_exception_handler(KeyReused, _key_reused)
    app.add_exception_handler(BlobMissing, _blob_lost)
    app.add_exception_handler(BlobDamaged, _blob_lost)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unexpected)


async def _api_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)  # noqa: S101 - narrows the type: registered for this class
    return problem_response(request, error.status, error.code, error.detail, headers=error.headers)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - narrows the type: registered for this class
    faults = [
        FieldFault(field=".".join(str(part) for part in fault["loc"]), message=str(fault["msg"]))
        for fault in error.errors()
    ]
    detail = "; ".join(f"{fault.field}: {fault.message}" for fault in faults)
    return problem_response(request, 422, "request_invalid", f"The request is not valid: {detail}.", errors=faults)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - narrows the type: registered for this class
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path}; /openapi.json lists every address."
        return problem_response(request, 404, "path_unknown", detail)
    headers = error.headers
    if error.status_code == 405:
        headers = {**(headers or {}), "Allow": ", ".join(_methods_of(request))}
    phrase = HTTPStatus(error.status_code).phrase
    detail = f"{request.method} {request.url.path}: {error.detail}."
    code = phrase.lower().replace(" ", "_").replace("-", "_")
    return problem_response(request, error.status_code, code, detail, headers=headers)


def _methods_of(request: Request) -> list[str]:
    """All that this address takes: each route by itself names its own only."""

    def is_taken(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)

    return [method for method in METHODS if is_taken(method)]


async def _body_too_large(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, BodyTooLarge)  # noqa: S101 - narrows the type: registered for this class
    return body_too_large(request, error.limit)


async def _body_stalled(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, BodyStalled)  # noqa: S101 - narrows the type: registered for this class
    detail = f"Nothing of the body came for {error.idle_s:.0f} s, so nothing of it was kept; send it again."
    # Closed, for what the client may still send would be taken for its next request.
    return problem_response(request, 408, "body_stalled", detail, headers={"Connection": "close"})


async def _unavailable(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TransientError)  # noqa: S101 - narrows the type: registered for this class
    detail = f"{error.sentence.rstrip('.')}. Try again in a few seconds."
    return problem_response(request, 503, error.code, detail, headers={"Retry-After": "3"})


async def _key_reused(request: Request, _: Exception) -> JSONResponse:
    detail = "This Idempotency-Key came before with another request; use a new key for a new request."
    return problem_response(request, 422, "idempotency_key_reused", detail)


async def _blob_lost(request: Request, error: Exception) -> JSONResponse:
    return problem_response(request, 500, "blob_lost", f"{error}.")


async def _gone(request: Request, _: Exception) -> JSONResponse:
    # Nobody reads this answer; it only ends the request without a stack trace in the log.
    return problem_response(request, 400, "client_gone", "The client left before the body was complete.")


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = f"{type(error).__name__} at {request.method} {request.url.path}; the gateway's log has the details."
    return problem_response(request, 500, "internal_error", detail)
