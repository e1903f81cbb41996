"""Corrects Litestar's OpenAPI document for client generators.

Litestar declares that every body is required, that parameters can be null, and that bodies can have additional fields.
Where any value is allowed, it declares null invalid. Clients generated from such a document would send unneeded bodies,
reject valid values, and send values that the API refuses.
"""

import json
from collections.abc import Iterator
from typing import Any

from litestar import Request
from litestar.handlers.http_handlers import HTTPRouteHandler
from litestar.openapi.plugins import JsonRenderPlugin

from pgsched.api.request_reading import KINDS
from pgsched.api.routing import WHY

_WHOSE = "The client, if the path has a key that several clients use."
_NULL = {"type": "null"}


class Description(JsonRenderPlugin):
    """Serves the document, which is rendered once."""

    def __init__(self) -> None:
        super().__init__(path="/openapi.json")
        self._made: bytes | None = None

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        if self._made is None:
            self._made = super().render(request, _mended(openapi_schema))
        return self._made


def name_of(handler: HTTPRouteHandler, *_: Any) -> str:
    """Returns an operation's name for generated clients, which is the name of the route's function."""
    return handler.fn.__name__


def _mended(description: dict[str, Any]) -> dict[str, Any]:
    for item in description["paths"].values():
        for operation in item.values():
            _take_keys(operation)
            for parameter in operation.get("parameters", ()):
                _take_no_null(parameter["schema"], empty=parameter["in"] == "header")
            if body := operation.get("requestBody"):
                _require(body)
                _refuse_bodies(operation["responses"])
                _close(body, description["components"]["schemas"])
    _name_pages(description)
    description["paths"] = dict(sorted(description["paths"].items()))
    for schema in description["components"]["schemas"].values():
        schema.pop("default", None)  # a default belongs to one field, not to all fields of this type
        for field in schema.get("properties", {}).values():
            _leave_out(field)
    for node in _nodes(description):
        if {} in node.get("oneOf", ()):
            del node["oneOf"]
        if node.get("format") == "duration":  # this format does not allow fractions of a second
            del node["format"]
    return description


def _take_keys(operation: dict[str, Any]) -> None:
    """Allows a key instead of the id of a job or an execution, except on routes that need only a token."""
    named = [one for one in operation.get("parameters", ()) if one["in"] == "path" and one["name"] in KINDS]
    if named and operation.get("security") != [{}]:
        named[0]["schema"] = {"type": "string"}
        operation["parameters"].append(
            {"name": "client", "in": "query", "schema": {"type": "string"}, "description": _WHOSE}
        )


def _name_pages(description: dict[str, Any]) -> None:
    """Renames schemas such as ``Page[Job]`` to JobPage, for generated clients."""
    schemas = description["components"]["schemas"]
    made = {
        name: f"{schema['title'][5:-1].removesuffix('Row')}Page"
        for name, schema in schemas.items()
        if name.startswith("Page_")
    }
    for name, better in made.items():
        schemas[better] = schemas.pop(name) | {"title": better}
    for node in _nodes(description["paths"]):
        name = str(node.get("$ref", "")).rpartition("/")[2]
        if name in made:
            node["$ref"] = f"#/components/schemas/{made[name]}"


def _require(body: dict[str, Any]) -> None:
    """Makes a body optional if it may be null."""
    for content in body["content"].values():
        choices = content["schema"].get("oneOf", [])
        if _NULL in choices:
            body["required"] = False
            [content["schema"]] = [choice for choice in choices if choice != _NULL]


def _take_no_null(schema: dict[str, Any], *, empty: bool) -> None:
    """Removes null from a parameter's schema. Unless ``empty``, also requires text to have at least one character."""
    others = [choice for choice in schema.get("oneOf", ()) if choice != _NULL]
    if len(others) == 1:
        del schema["oneOf"]
        schema |= others[0] | schema
    if isinstance(schema.get("type"), list):
        [schema["type"]] = [kind for kind in schema["type"] if kind != "null"]
        schema["enum"] = [choice for choice in schema["enum"] if choice is not None]
    if not empty and schema.get("type") == "string" and schema.keys().isdisjoint({"enum", "format", "pattern"}):
        schema.setdefault("minLength", 1)


def _close(node: Any, schemas: dict[str, Any]) -> None:
    """Forbids undeclared fields in all objects of a body."""
    for inner in _nodes(node):
        named = schemas.get(str(inner.get("$ref", "")).rpartition("/")[2], {})
        if "properties" in named and "additionalProperties" not in named:
            named["additionalProperties"] = False
            _close(named, schemas)


def _refuse_bodies(responses: dict[str, Any]) -> None:
    for status in (413, 415):
        responses.setdefault(str(status), responses["400"] | {"description": WHY[status]})


def _leave_out(field: dict[str, Any]) -> None:
    """Moves a field's default into its description, because some generators treat a field with a default as
    required."""
    if "default" in field:
        default = json.dumps(field.pop("default"))
        field["description"] = f"{field.get('description', '')} Default: {default}.".strip()


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _nodes(child)
