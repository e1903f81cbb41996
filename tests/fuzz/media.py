"""What the OpenAPI description cannot express: bodies of JSON lines, and how integers are written."""

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st

_JOBS = st.fixed_dictionaries(
    {"target": st.sampled_from(["notify:a", "https://shop.example/x", "python:note", "nowhere", ""])},
    optional={
        "key": st.text(min_size=1, max_size=3),
        "client": st.sampled_from(["shop", "orders"]),
        "schedule": st.just({}),
    },
)

schemathesis.openapi.media_type(
    "application/x-ndjson", st.lists(_JOBS.map(lambda job: json.dumps(job).encode()), max_size=5).map(b"\n".join)
)


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Write integers without a fraction: 5.0 is an integer to JSON Schema, but not to pgsched."""
    if isinstance(body, dict):
        return {name: map_body(context, value) for name, value in body.items()}
    if isinstance(body, list):
        return [map_body(context, value) for value in body]
    return int(body) if isinstance(body, float) and body.is_integer() else body


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    """Stop the event stream at once; it would never end."""
    return {**(query or {}), "wait": "0s"} if context.operation.path == "/v1/events" else query


@schemathesis.hook
def filter_path_parameters(context: Any, path_parameters: Any) -> bool:
    """Leave out null ids: a dry run names no bulk operation, and its null would be the next request's id."""
    return {None, "null"}.isdisjoint((path_parameters or {}).values())
