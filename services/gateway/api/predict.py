"""/v1/models/{id}/predict: answers from the model behind an alias."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from learning.errors import SampleRejected
from learning.task import Prediction
from schemas.base import Failure
from services.gateway.api.context import ApiContext, Context
from services.gateway.api.models import ModelId, find_model
from services.gateway.api.predict_body import BODY, Limits, Sent, read_files
from services.gateway.api.problems import ApiError, problems
from services.gateway.model_pool import Served
from services.gateway.predicting import Busy, Outcome

router = APIRouter(tags=["predictions"])

UNSUPPORTED = frozenset({"not_an_image"})
OVERSIZED = frozenset({"too_large"})


class ClassScore(BaseModel):
    """How strongly the prediction speaks for one class, 0 to 1."""

    class_id: str
    name: str
    score: float


class FilePrediction(BaseModel):
    """The best classes of one file, or why it could not be read."""

    name: str | None = Field(default=None, description="the file's name, where the caller gave one")
    results: list[ClassScore] = Field(description="best first")
    failure: Failure | None = None


class Predictions(BaseModel):
    """One entry a file, in the order they were sent. Below `threshold` a prediction is doubtful."""

    model_id: str
    version: int
    threshold: float
    predictions: list[FilePrediction]


@router.post(
    "/v1/models/{model_id}/predict",
    summary="Predict",
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=BODY,
    response_model_exclude_none=True,
)
async def predict(
    model_id: ModelId,
    request: Request,
    context: Context,
    alias: Annotated[str, Query(examples=["production"])] = "production",
    top: Annotated[int, Query(ge=1, description="how many classes a file; at most all of the model's")] = 5,
) -> Predictions:
    """One file or several. Of several, one that cannot be read gets a `failure`; alone, it is answered 4xx."""
    served = await _served(context, model_id, alias)
    settings = context.settings
    files = await read_files(request, Limits(settings.predict_max_bytes, settings.predict_max_files))
    try:
        outcomes = await context.predictions.predict(served.predictor, [file.content for file in files])
    except Busy:
        detail = "As many files wait for a prediction as may; try again in a second."
        raise ApiError(503, "predictions_busy", detail, {"Retry-After": "1"}) from None
    if len(outcomes) == 1 and isinstance(outcomes[0], SampleRejected):
        raise _unreadable(files[0], outcomes[0])
    entries = [_entry(file, outcome, top) for file, outcome in zip(files, outcomes, strict=True)]
    return Predictions(model_id=model_id, version=served.version, threshold=served.threshold, predictions=entries)


async def _served(context: ApiContext, model_id: str, alias: str) -> Served:
    served = context.models.find(model_id, alias)
    if served is not None:
        return served
    await find_model(context.deps, model_id)
    named = await context.deps.registry.get("aliases", f"{model_id}/{alias}")
    if named is None:
        detail = f"Model {model_id} has no version published as {alias!r}; publish one, or wait for its first run."
        raise ApiError(409, "not_published", detail)
    detail = f"Version {named['version']} of model {model_id} is being loaded; try again in a few seconds."
    raise ApiError(503, "model_loading", detail, {"Retry-After": "2"})


def _entry(file: Sent, outcome: Outcome, top: int) -> FilePrediction:
    if isinstance(outcome, SampleRejected):
        return FilePrediction(
            name=file.name, results=[], failure=Failure(code=outcome.code, sentence=_sentence(file, outcome))
        )
    return FilePrediction(name=file.name, results=_best(outcome, top))


def _best(prediction: Prediction, top: int) -> list[ClassScore]:
    return [
        ClassScore(class_id=score.class_id, name=score.name, score=float(score.score))
        for score in prediction.scores[:top]
    ]


def _unreadable(file: Sent, rejection: SampleRejected) -> ApiError:
    status = 415 if rejection.code in UNSUPPORTED else 413 if rejection.code in OVERSIZED else 422
    return ApiError(status, rejection.code, _sentence(file, rejection))


def _sentence(file: Sent, rejection: SampleRejected) -> str:
    """The plug-in's sentence, which begins with the file's position ("picture 1: "), with the file's name there."""
    if file.name is None:
        return rejection.sentence
    position, _, reason = rejection.sentence.partition(": ")
    return f"{file.name}: {reason or position}"
