"""Asking an HTTP interface everything that its OpenAPI document allows, and much that it does not (schemathesis)."""

from collections import defaultdict
from typing import Any

from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.schemas import BaseSchema

from tests.unit.gateway.building import KEY

# In a form everything is bytes, so nothing there has a wrong type.
FORMS = ("POST /v1/models/{model_id}/predict", "POST /v1/datasets/{dataset_id}/imports")


def config(examples: int, key: str = KEY) -> SchemathesisConfig:
    """All checks but one; `examples` a route and phase, and all phases together ask many times as often."""
    settings: dict[str, Any] = {
        "headers": {"Authorization": f"Bearer {key}"},
        "generation": {"max-examples": examples, "deterministic": True, "database": "none"},
        "checks": {
            # What is well-formed may still be refused: for its type, its size, or since it names nothing that exists.
            "positive_data_acceptance": {"expected-statuses": ["2xx", "400", "404", "409", "413", "415", "422"]},
            # A DELETE is answered 202: the thing is there until its owner has decided.
            "use_after_free": {"enabled": False},
        },
        "operations": [
            {"include-name": name, "checks": {"negative_data_rejection": {"enabled": False}}} for name in FORMS
        ],
    }
    return SchemathesisConfig.from_dict(settings)


def faults_of(schema: BaseSchema) -> str:
    """What was wrong with which answers, the first few of each route; empty when all were as documented."""
    found: dict[str, list[str]] = defaultdict(list)
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished(recorder=recorder):
                checks = [check for of_case in recorder.checks.values() for check in of_case]
                failed = [(check.name, check.failure_info) for check in checks if check.failure_info is not None]
                found[recorder.label] += [f"{name}: {info.failure}\n{info.code_sample}" for name, info in failed]
            case events.NonFatalError(label=label, info=info):
                found[label].append(str(info))
            case events.FatalError(exception=exception):
                raise exception
    return "\n\n".join(f"{route}\n{fault}" for route, faults in found.items() for fault in faults[:3])
