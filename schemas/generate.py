"""Writes the JSON Schema of every event: `python -m schemas.generate`. Refuses a change that would break a reader.

A changed shape is a new `.vN`: a type that was published keeps its fields, their types, and what may be left out.
"""

import json
import sys
from pathlib import Path
from typing import Any

from schemas.base import Event
from schemas.catalog import EVENTS

FOLDER = Path(__file__).parent / "json"

Schema = dict[str, Any]


def schema_of(event: type[Event]) -> Schema:
    """JSON Schema (draft 2020-12) of the event's data."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": event.TYPE,
        **event.model_json_schema(mode="serialization"),
    }


def text_of(schema: Schema) -> str:
    """As committed."""
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def incompatibilities(old: Schema, new: Schema) -> list[str]:
    """What in `new` breaks someone who wrote or reads by `old`; one sentence each."""
    found = _of_object("the event", old, new)
    for name, definition in old.get("$defs", {}).items():
        if name in new.get("$defs", {}):
            found += _of_object(name, definition, new["$defs"][name])
    return found


def _of_object(where: str, old: Schema, new: Schema) -> list[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    gone = [f"{where} no longer has {field}" for field in before if field not in after]
    changed = [
        f"{field} of {where} has another type"
        for field in before
        if field in after and _shape(before[field]) != _shape(after[field])
    ]
    demanded = sorted(set(new.get("required", [])) - set(old.get("required", [])))
    return gone + changed + [f"{where} demands {field}, which it did not before" for field in demanded]


def _shape(schema: Schema) -> Schema:
    return {
        name: value for name, value in schema.items() if name not in ("title", "description", "default", "examples")
    }


def stale() -> list[str]:
    """Types whose committed schema is missing, differs, or belongs to no event."""
    wanted = {f"{name}.json": text_of(schema_of(event)) for name, event in EVENTS.items()}
    present = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def broken() -> list[str]:
    """Every incompatible change against the committed schemas, and every published type that is gone."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        if (event := EVENTS.get(path.stem)) is None:
            found.append(f"{path.stem}: a published type must not disappear")
            continue
        found += [f"{path.stem}: {why}" for why in incompatibilities(json.loads(path.read_text()), schema_of(event))]
    return found


def main() -> int:
    """Write what is stale; exit status 1, and nothing written, when a change breaks readers."""
    if reasons := broken():
        sys.stderr.write("".join(f"{reason}; add a new .vN instead\n" for reason in reasons))
        return 1
    FOLDER.mkdir(exist_ok=True)
    for name, event in EVENTS.items():
        (FOLDER / f"{name}.json").write_text(text_of(schema_of(event)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
