"""What the evaluator needs to know."""

from chassis.settings import ServiceSettings


class EvaluatorSettings(ServiceSettings):
    """Settings of the evaluator: none of its own so far."""
