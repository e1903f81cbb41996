"""What the description cannot say of bodies: those that are lines, and how whole numbers are written."""

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
    """JSON Schema takes 5.0 for a whole number, and pgsched does not."""
    if isinstance(body, dict):
        return {name: map_body(context, value) for name, value in body.items()}
    if isinstance(body, list):
        return [map_body(context, value) for value in body]
    return int(body) if isinstance(body, float) and body.is_integer() else body


@schemathesis.hook
def map_query(context: Any, query: Any) -> Any:
    """A stream of events would go on for ever."""
    return {**(query or {}), "wait": "0s"} if context.operation.path == "/v1/events" else query


@schemathesis.hook
def filter_path_parameters(context: Any, path_parameters: Any) -> bool:
    """A dry run names no bulk operation, and its null is taken for the id of the next request."""
    return {None, "null"}.isdisjoint((path_parameters or {}).values())
