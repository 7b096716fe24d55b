"""Errors as application/problem+json (RFC 9457), each with a stable code and a sentence a person can act on."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"

TITLES = {
    400: "Bad request",
    401: "No key",
    403: "Wrong key",
    404: "Not found",
    405: "Method not allowed",
    408: "Too slow",
    409: "Not possible now",
    413: "Too large",
    415: "Media type not supported",
    422: "Not usable",
    500: "Internal error",
    503: "Unavailable",
}


class FieldFault(BaseModel):
    """What is wrong with one part of the request."""

    field: str = Field(description="where, e.g. body.name or query.limit", examples=["body.preset"])
    message: str = Field(description="what is wrong", examples=["Input should be 'fast', 'balanced' or 'accurate'"])


class Problem(BaseModel):
    """An error (RFC 9457). `code` is stable; `detail` names the thing, the reason and the remedy."""

    type: str = Field(examples=["urn:easyloop:problem:dataset_unknown"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no data set ds_1; GET /v1/datasets lists those that exist."])
    instance: str = Field(examples=["/v1/datasets/ds_1"])
    code: str = Field(examples=["dataset_unknown"])
    errors: list[FieldFault] = Field(default=[], description="the faulty fields, for invalid requests")


class ApiError(Exception):
    """Ends a request with a problem document."""

    def __init__(self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})


class BodyTooLarge(HTTPException):
    """Raised while a body is read. An HTTPException, for FastAPI turns anything else into a plain 400 there."""

    def __init__(self, limit: int) -> None:
        super().__init__(413)
        self.limit = limit


class BodyStalled(HTTPException):
    """Raised while a body is read, when nothing of it came for `idle_s` seconds. An HTTPException as BodyTooLarge."""

    def __init__(self, idle_s: float) -> None:
        super().__init__(408)
        self.idle_s = idle_s


def body_too_large(request: Request, limit: int) -> JSONResponse:
    """413 for addresses that take small bodies only; `limit` in bytes."""
    detail = f"The body has more than {limit // 1024} kB; this address takes none as large."
    return problem_response(request, 413, "body_too_large", detail)


def unknown(kind: str, identifier: str, where: str) -> ApiError:
    """404 for a resource; `where` is the address that lists what exists."""
    code = f"{kind.replace(' ', '_')}_unknown"
    return ApiError(404, code, f"There is no {kind} {identifier}; GET {where} lists those that exist.")


def problem_response(
    request: Request,
    status: int,
    code: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: list[FieldFault] | None = None,
) -> JSONResponse:
    """The problem document as a response."""
    problem = Problem(
        type=f"urn:easyloop:problem:{code}",
        title=TITLES.get(status, "Error"),
        status=status,
        detail=detail,
        instance=request.url.path,
        code=code,
        errors=errors or [],
    )
    content = problem.model_dump(exclude=set() if errors else {"errors"})
    return JSONResponse(content, status_code=status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route for the OpenAPI document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses}
