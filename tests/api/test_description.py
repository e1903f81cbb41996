"""The OpenAPI document describes every route."""

from typing import Any

import httpx
import pytest

from pgsched.version import __version__

ROUTES = {
    ("/v1/doctor", "get"),
    ("/v1/recovery", "get"),
    ("/v1/recovery/pause", "post"),
    ("/v1/recovery/resume", "post"),
    ("/v1/stats", "get"),
    ("/v1/jobs", "get"),
    ("/v1/jobs", "post"),
    ("/v1/jobs/batch", "post"),
    ("/v1/jobs/{job_id}", "get"),
    ("/v1/jobs/{job_id}", "patch"),
    ("/v1/jobs/{job_id}", "delete"),
    ("/v1/jobs/{job_id}/preview", "post"),
    ("/v1/preview", "post"),
    ("/v1/jobs/{job_id}/pause", "post"),
    ("/v1/jobs/{job_id}/resume", "post"),
    ("/v1/jobs/{job_id}/trigger", "post"),
    ("/v1/jobs/{job_id}/executions", "get"),
    ("/v1/events", "get"),
    ("/v1/executions", "get"),
    ("/v1/executions/{execution_id}", "get"),
    ("/v1/executions/{execution_id}", "patch"),
    ("/v1/executions/{execution_id}/cancel", "post"),
    ("/v1/executions/{execution_id}/complete", "post"),
    ("/v1/executions/{execution_id}/fail", "post"),
    ("/v1/executions/{execution_id}/extend", "post"),
    ("/v1/executions/{execution_id}/release", "post"),
    ("/v1/queues/{queue}/claim", "post"),
    ("/v1/executions/{execution_id}/retry", "post"),
    ("/v1/bulk", "post"),
    ("/v1/bulk", "get"),
    ("/v1/bulk/{operation_id}", "get"),
    ("/v1/bulk/{operation_id}", "delete"),
    ("/v1/dead-letters", "get"),
    ("/v1/dead-letters/{execution_id}", "get"),
    ("/v1/dead-letters/{execution_id}", "delete"),
    ("/v1/clients", "get"),
    ("/v1/clients/{client}", "get"),
    ("/v1/clients/{client}", "put"),
    ("/v1/clients/{client}", "patch"),
    ("/v1/clients/{client}", "delete"),
    ("/v1/clients/{client}/pause", "post"),
    ("/v1/clients/{client}/resume", "post"),
    ("/v1/clients/{client}/secrets", "get"),
    ("/v1/clients/{client}/secrets/{name}", "put"),
    ("/v1/clients/{client}/secrets/{name}", "delete"),
    ("/v1/clients/{client}/signing-secret", "post"),
    ("/v1/clients/{client}/signing-secret", "delete"),
    ("/v1/queues", "get"),
    ("/v1/queues", "post"),
    ("/v1/queues/{name}", "get"),
    ("/v1/queues/{name}", "patch"),
    ("/v1/queues/{name}", "delete"),
    ("/v1/queues/{name}/pause", "post"),
    ("/v1/queues/{name}/resume", "post"),
    ("/v1/workers", "get"),
    ("/v1/workers/{worker}", "get"),
    ("/v1/workers/{worker}/pause", "post"),
    ("/v1/workers/{worker}/resume", "post"),
    ("/v1/limits", "get"),
    ("/v1/limits/{kind}/{name}", "get"),
    ("/v1/limits/{kind}/{name}", "put"),
    ("/v1/limits/{kind}/{name}", "delete"),
    ("/v1/targets/sidelined", "get"),
    ("/v1/targets/pause", "post"),
    ("/v1/targets/resume", "post"),
    ("/v1/ordering-keys/blocked", "get"),
    ("/v1/ordering-keys/resume", "post"),
    ("/v1/keys", "get"),
    ("/v1/keys", "post"),
    ("/v1/keys/{key_id}", "get"),
    ("/v1/keys/{key_id}", "delete"),
    ("/v1/keys/{key_id}/rotate", "post"),
    ("/v1/keys/{key_id}/rate", "put"),
    ("/v1/audit", "get"),
    ("/healthz", "get"),
    ("/metrics", "get"),
    ("/readyz", "get"),
}


_BODIES = {"CreateJob", "Timing", "EditJob", "Retiming", "PreviewSpec", "AskBulk", "BulkFilter", "NewKey", "Note"}
"""Request bodies, and schemas within them, that the test of unknown fields checks."""


@pytest.fixture
async def description(api: httpx.AsyncClient) -> Any:
    return (await api.get("/schema/openapi.json")).json()


def test_the_openapi_document_lists_exactly_the_api_routes(description: Any) -> None:
    found = {(path, method) for path, item in description["paths"].items() for method in item}
    assert found == ROUTES
    assert description["info"]["title"] == "pgsched"
    assert description["info"]["version"] == __version__


def test_every_route_has_a_unique_summary(description: Any) -> None:
    summaries = [route["summary"] for item in description["paths"].values() for route in item.values()]
    assert all(summaries)
    assert len(set(summaries)) == len(summaries)


def test_most_routes_have_a_description_besides_the_summary(description: Any) -> None:
    operations = [operation for item in description["paths"].values() for operation in item.values()]
    described = [operation["description"] for operation in operations if "description" in operation]
    assert len(described) > len(operations) / 2
    assert "on_conflict" in description["paths"]["/v1/jobs"]["post"]["description"]


def test_every_error_response_is_documented_as_problem_json(description: Any) -> None:
    for item in description["paths"].values():
        for route in item.values():
            refusals = [answer for status, answer in route["responses"].items() if status >= "400"]
            assert all(list(answer["content"]) == ["application/problem+json"] for answer in refusals)


def test_bodies_that_can_be_omitted_are_documented_as_optional(description: Any) -> None:
    optional = {
        route["operationId"]
        for item in description["paths"].values()
        for route in item.values()
        if not route.get("requestBody", {"required": True})["required"]
    }
    notes = {
        "pause",
        "resume",
        "pause_client",
        "resume_client",
        "pause_queue",
        "resume_queue",
        "pause_worker",
        "resume_worker",
        "pause_installation",
    }
    assert optional == notes | {
        "cancel_execution",
        "rotate_signing_secret",
        "rotate_key",
        "replay",
        "resume_installation",
    }


def test_every_operation_has_a_unique_id(description: Any) -> None:
    names = [route["operationId"] for item in description["paths"].values() for route in item.values()]
    assert len(set(names)) == len(names)
    assert {"create", "list_jobs", "pause", "claim"} <= set(names)


def test_every_route_describes_the_common_error_responses(description: Any) -> None:
    for path, item in description["paths"].items():
        for method, route in item.items():
            wanted = {"400", "403", "422", "503"} if path.startswith("/v1/") else set()
            wanted |= {"413", "415"} if "requestBody" in route else set()
            assert wanted <= set(route["responses"]), (path, method)


@pytest.mark.parametrize("status", [200, 201])
def test_the_bulk_route_documents_both_success_statuses(description: Any, status: int) -> None:
    for path in ("/v1/bulk",):
        assert str(status) in description["paths"][path]["post"]["responses"]


async def test_the_error_for_an_unknown_predecessor_is_documented(description: Any, api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/jobs", json={"target": "notify:a", "after": ["nothing"]})
    assert str(answer.status_code) in description["paths"]["/v1/jobs"]["post"]["responses"]


def test_a_one_of_list_never_contains_an_empty_schema(description: Any) -> None:
    for schema in description["components"]["schemas"].values():
        assert not [field for field in schema.get("properties", {}).values() if {} in field.get("oneOf", ())]


def test_parameters_are_not_nullable_and_bodies_allow_no_extra_fields(description: Any) -> None:
    routes = [route for item in description["paths"].values() for route in item.values()]
    schemas = [parameter["schema"] for route in routes for parameter in route.get("parameters", ())]
    assert not [schema for schema in schemas if "null" in str(schema)]
    bodies = {name: schema for name, schema in description["components"]["schemas"].items() if name in _BODIES}
    assert [name for name, schema in bodies.items() if schema["additionalProperties"] is not False] == []
    assert bodies.keys() == _BODIES


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/jobs", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("POST", "/v1/jobs/1", {"GET", "HEAD", "PATCH", "DELETE", "OPTIONS"}),
        ("GET", "/v1/jobs/1/pause", {"POST", "OPTIONS"}),
        ("DELETE", "/healthz", {"GET", "HEAD", "OPTIONS"}),
        ("OPTIONS", "/v1/jobs", {"GET", "HEAD", "POST", "OPTIONS"}),
    ],
)
async def test_an_unsupported_method_gets_an_allow_header(
    method: str, path: str, allowed: set[str], api: httpx.AsyncClient
) -> None:
    answer = await api.request(method, path)
    assert answer.status_code == (204 if method == "OPTIONS" else 405)
    assert set(answer.headers["Allow"].split(", ")) == allowed


def test_list_item_length_limits_are_documented(description: Any) -> None:
    clients = description["components"]["schemas"]["ReleasePolicy"]["properties"]["hold_clients"]
    assert clients["items"] == {"type": "string", "minLength": 1, "maxLength": 100}


def test_every_schema_reference_resolves(description: Any) -> None:
    def references(node: Any) -> set[str]:
        if isinstance(node, list):
            return set().union(*map(references, node))
        if not isinstance(node, dict):
            return set()
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*map(references, node.values()))

    schemas = {f"#/components/schemas/{name}" for name in description["components"]["schemas"]}
    assert references(description) <= schemas


async def test_documented_example_requests_can_be_posted_unchanged(description: Any, api: httpx.AsyncClient) -> None:
    content = description["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]
    examples = content["application/json"]["schema"]["examples"]
    assert [(await api.post("/v1/jobs", json=example)).status_code for example in examples] == [201, 201]
