"""A trace joined from end to end, as a collector receives it; and what tracing needs."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, cast

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from psycopg.types.json import Jsonb

import pgsched
from pgsched.api.app import create_app
from pgsched.client.trace import current_traceparent
from pgsched.delivery.app import App
from pgsched.errors import InvalidSettings
from pgsched.optional_tracing import recording
from pgsched.settings import Settings
from tests.api.serving import serving
from tests.delivery.receiver import Request, answering, receiving
from tests.worker.conftest import Connection, Running, until_history, value


@dataclass(frozen=True)
class Collected:
    """A span as the collector receives it, with hexadecimal ids."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    error: str
    told: dict[str, Any] = field(hash=False)


class Collector:
    """Receives what exporters send by OTLP over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Collected] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector._take(ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"

    def one(self, service: str, name: str) -> Collected:
        [found] = [span for span in self.spans if (span.service, span.name) == (service, name)]
        return found

    def _take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            service = next(one.value.string_value for one in resource.resource.attributes if one.key == SERVICE_NAME)
            for scope in resource.scope_spans:
                self.spans += [_collected(service, span) for span in scope.spans]


def _collected(service: str, span: Any) -> Collected:
    told = {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
    ids = (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())
    return Collected(service, span.name, *ids, span.status.message, told)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    found = Collector()
    thread = Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", found.url)
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


@pytest.fixture
def shop(collector: Collector) -> Iterator[trace.Tracer]:
    """The caller's own tracer."""
    provider = TracerProvider(resource=Resource({SERVICE_NAME: "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
    yield provider.get_tracer("shop")
    provider.shutdown()


async def test_one_trace_joins_caller_api_worker_and_target(
    db: Connection, running: Running, database_url: str, collector: Collector, shop: trace.Tracer
) -> None:
    api = create_app(Settings(database_url=database_url, tracing=True))
    async with receiving(answering("503 Service Unavailable")) as receiver:
        async with serving(api) as client:
            with shop.start_as_current_span("checkout") as checkout:
                sent = {"traceparent": current_traceparent() or ""}
                order = {"target": f"{receiver.url}/settle", "key": "settle-42", "options": {"max_attempts": 1}}
                assert (await client.post("/v1/jobs", json=order, headers=sent)).status_code == 201
        async with running(tracing=True):
            await until_history(db, 1, status="failed")
    schedule, attempt = collector.one("pgsched-api", "schedule"), collector.one("pgsched-worker", "attempt")
    deliver = collector.one("pgsched-worker", "deliver")
    [called] = receiver.requests
    assert called.headers["traceparent"].startswith(f"00-{deliver.trace}-{deliver.id}-")
    assert [deliver.parent, attempt.parent, schedule.parent] == [attempt.id, schedule.id, _id(checkout)]
    assert {span.trace for span in collector.spans} == {f"{checkout.get_span_context().trace_id:032x}"}
    assert (attempt.told["pgsched.outcome"], attempt.told["pgsched.status_code"]) == ("failed", 503)
    assert attempt.told["pgsched.key"] == "settle-42"
    assert "503" in attempt.error


async def test_each_way_of_scheduling_joins_the_spans_of_caller_and_target(
    db: Connection, running: Running, database_url: str, collector: Collector, shop: trace.Tracer
) -> None:
    """Follow the parents from the span of the called service to the caller's."""

    async def settle(request: Request, writer: asyncio.StreamWriter) -> None:
        called_from = TraceContextTextMapPropagator().extract(request.headers)
        with shop.start_as_current_span(f"settle{request.path}", context=called_from):
            await answering()(request, writer)

    callers: dict[str, trace.Span] = {}
    api = create_app(Settings(database_url=database_url, tracing=True))
    async with receiving(settle) as receiver:
        transport = httpx.ASGITransport(cast(Any, api))
        async with serving(api), pgsched.AsyncClient("http://127.0.0.1", transport=transport) as client:
            with shop.start_as_current_span("by HTTP") as callers["/http"]:
                await client.schedule(f"{receiver.url}/http")
            with shop.start_as_current_span("in Python") as callers["/python"]:
                await pgsched.schedule_async(db, f"{receiver.url}/python")
            with shop.start_as_current_span("by SQL") as callers["/sql"]:
                options = Jsonb({"traceparent": current_traceparent()})
                await db.execute("select pgsched.schedule(%s, options => %s)", [f"{receiver.url}/sql", options])
        async with running(tracing=True):
            await until_history(db, 3)
    spans = {span.id: span for span in collector.spans}
    for path, caller in callers.items():
        way = []
        span = collector.one("shop", f"settle{path}")
        while span.id != _id(caller):
            way.append(span.name)
            span = spans[span.parent]
        assert way == [f"settle{path}", "deliver", "attempt", *(["schedule"] if path == "/http" else [])]


async def test_a_handlers_spans_join_the_scheduling_transactions_trace(
    db: Connection, running: Running, collector: Collector, shop: trace.Tracer
) -> None:
    app = App()

    @app.handler("settle")
    def settle() -> None:
        with shop.start_as_current_span("bank"):
            pass

    with shop.start_as_current_span("checkout") as checkout:
        await pgsched.schedule_async(db, "python:settle", delay="1s")
        await pgsched.schedule_async(db, "python:never", every="1d")
    assert await value(db, "select options from pgsched.jobs") is None
    async with running(app, tracing=True):
        await until_history(db, 1)
    attempt, deliver = (collector.one("pgsched-worker", name) for name in ("attempt", "deliver"))
    assert [attempt.parent, deliver.parent] == [_id(checkout), attempt.id]
    assert collector.one("shop", "bank").parent == deliver.id


async def test_the_callers_trace_is_passed_on_unchanged_if_tracing_is_off(
    db: Connection, running: Running, collector: Collector, shop: trace.Tracer
) -> None:
    async with receiving(answering()) as receiver, running():
        with shop.start_as_current_span("checkout"):
            sent = current_traceparent()
            await pgsched.schedule_async(db, f"{receiver.url}/settle")
        await until_history(db, 1)
    assert [request.headers["traceparent"] for request in receiver.requests] == [sent]
    assert {span.service for span in collector.spans} == {"shop"}


def test_an_invalid_opentelemetry_variable_is_refused(monkeypatch: pytest.MonkeyPatch, collector: Collector) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "-1")
    with pytest.raises(InvalidSettings, match="OpenTelemetry rejects the OTEL_… variables"):
        recording(Settings(tracing=True), "pgsched-worker")


def test_tracing_without_opentelemetry_says_what_to_install() -> None:
    script = """if True:
        import sys
        sys.modules["opentelemetry"] = None
        import pgsched.scheduler, pgsched.api.app
        from pgsched.client.trace import current_traceparent
        from pgsched.settings import Settings
        from pgsched.optional_tracing import recording
        assert current_traceparent() is None and recording(Settings(), "x") is None
        try:
            recording(Settings(tracing=True), "x")
        except Exception as error:
            print(error)"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout == "tracing needs an extra: pip install 'pgsched[tracing]'\n"


def _id(span: trace.Span) -> str:
    return f"{span.get_span_context().span_id:016x}"
