"""/v1/doctor: what is wrong with the platform, and what to do about it."""

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from services.gateway.api.context import Context

router = APIRouter(tags=["operations"])


class CheckView(BaseModel):
    """One thing that was looked at."""

    name: str = Field(examples=["outbox"])
    status: Literal["ok", "warning", "error"]
    found: str = Field(examples=["everything is sent"])
    remedy: str = Field(default="", description="what to do; empty where there is nothing to do")


class Doctor(BaseModel):
    """`status` is that of the worst check."""

    status: Literal["ok", "warning", "error"]
    checks: list[CheckView]


@router.get("/v1/doctor", summary="Examine the platform")
async def examine(context: Context) -> Doctor:
    """Servers, topics, consumers, services, jobs, unsent rows, failed events, unneeded blobs, disk; takes a second."""
    found = await context.examination.run()
    worst = max((check.status for check in found), key=("ok", "warning", "error").index)
    return Doctor(status=worst, checks=[CheckView(**asdict(check)) for check in found])
