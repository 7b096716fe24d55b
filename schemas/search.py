"""What an expert wants searched instead of what a preset would try."""

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from schemas.base import Value

Constant = bool | int | float | str


class _Entry(Value):
    # Forbidden, not ignored: {"uniform": [0, 1], "loguniform": [1, 2]} would otherwise pass as its first half.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Choice(_Entry):
    """Each value equally likely."""

    choice: Annotated[list[Constant], Field(min_length=1, max_length=100)]


class Uniform(_Entry):
    """A number, low <= x < high."""

    uniform: tuple[float, float]

    @model_validator(mode="after")
    def _rises(self) -> Self:
        _check_range(*self.uniform)
        return self


class LogUniform(_Entry):
    """A number whose logarithm is uniform; low > 0."""

    loguniform: tuple[float, float]

    @model_validator(mode="after")
    def _rises_above_zero(self) -> Self:
        _check_range(*self.loguniform)
        if self.loguniform[0] <= 0:
            raise ValueError("the lower end of a loguniform range must be above 0")
        return self


class SearchSpace(Value):
    """So many candidates, each parameter of each drawn from its entry; what stands for itself is a constant.

    Which parameters there are is the task's business: a run with one that its task does not know fails and says so.
    """

    trials: int = Field(ge=1, le=64, description="candidates to try", examples=[8])
    parameters: dict[str, Choice | Uniform | LogUniform | Constant] = Field(
        min_length=1,
        max_length=32,
        examples=[{"head": {"choice": ["mlp", "linear"]}, "dropout": {"uniform": [0, 0.5]}, "mirror": True}],
    )


def _check_range(low: float, high: float) -> None:
    if not low < high:
        raise ValueError(f"the range [{low:g}, {high:g}] is empty; give the lower end first")
