"""Records OpenTelemetry spans: one for scheduling an execution, and two for each attempt, the first from when it is due
and the second from when it begins.

OpenTelemetry's own variables (``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_TRACES_SAMPLER``, ``OTEL_RESOURCE_ATTRIBUTES``)
set the destination, sampling and resource attributes. If the application or an agent has set a tracer provider, that
provider is used.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pgsched.version import __version__

Attributes = dict[str, str | int | float]
_PROPAGATOR = TraceContextTextMapPropagator()
_LEAVING = 5.0
_LONGEST = 256


class Spans:
    """Starts spans. ``service`` is their ``service.name``, unless the environment sets another name."""

    def __init__(self, service: str) -> None:
        self._own: TracerProvider | None = None
        provider = trace.get_tracer_provider()
        if isinstance(provider, trace.ProxyTracerProvider):  # no provider has been set
            resource = Resource.create({SERVICE_NAME: service}).merge(OTELResourceDetector().detect())
            provider = self._own = TracerProvider(resource=resource, shutdown_on_exit=False)
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = provider.get_tracer("pgsched", __version__)

    @contextmanager
    def scheduling(self, traceparent: str | None, target: str) -> Iterator[str]:
        """Opens a span around the block, as a child of the caller's span. Yields the ``traceparent`` for executions
        that are scheduled in the block."""
        within = None if traceparent is None else _within(traceparent)  # None: child of the current span
        told = {"pgsched.target": target[:_LONGEST]}
        with self._tracer.start_as_current_span("schedule", within, SpanKind.PRODUCER, told) as span:
            yield traceparent_of(span)

    @contextmanager
    def attempt(self, traceparent: str | None, due: int, attributes: Attributes) -> Iterator["AttemptSpan"]:
        """Opens two spans for an attempt. The first begins at ``due``, in nanoseconds since 1970. Its child begins with
        the block, and is the current span in the block. Both spans end when ``AttemptSpan.end`` is called."""
        whole = self._tracer.start_span("attempt", _within(traceparent), SpanKind.CONSUMER, attributes, start_time=due)
        kind = SpanKind.CLIENT if attributes["pgsched.channel"] != "python" else SpanKind.INTERNAL
        call = self._tracer.start_span("deliver", trace.set_span_in_context(whole), kind)
        with trace.use_span(call, record_exception=False, set_status_on_exception=False):
            yield AttemptSpan(whole, call)

    def close(self) -> None:
        """Sends the remaining spans, which may take up to five seconds."""
        if self._own is not None:
            sending = threading.Thread(target=self._own.shutdown, daemon=True)
            sending.start()
            sending.join(_LEAVING)


class AttemptSpan:
    """The two spans of an attempt."""

    def __init__(self, whole: Span, call: Span) -> None:
        self._whole, self._call = whole, call
        self.traceparent = traceparent_of(call)

    def end(self, outcome: str, *, error: str | None = None, **attributes: str | int | None) -> None:
        """Ends both spans, and marks them as failed if ``error`` is given."""
        self._whole.set_attribute("pgsched.outcome", outcome)
        for name, value in attributes.items():
            if value is not None:
                self._whole.set_attribute(f"pgsched.{name}", value)
        for span in (self._call, self._whole):
            if error is not None:
                span.set_status(Status(StatusCode.ERROR, error))
            span.end()


def traceparent_of(span: Span) -> str:
    """Returns the span's ``traceparent``, in W3C Trace Context format."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _within(traceparent: str | None) -> Context:
    return _PROPAGATOR.extract({} if traceparent is None else {"traceparent": traceparent}, Context())
