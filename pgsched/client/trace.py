"""The current OpenTelemetry trace of the calling program, if any."""

import sys
from collections.abc import Mapping
from typing import Any


def current_traceparent() -> str | None:
    """The current span in W3C Trace Context format, or None outside a span. Does not import OpenTelemetry,
    because there is no span unless the program has imported it."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


def within_trace(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Adds the current trace to the given options, unless they contain a trace. A job gets no trace, because its runs
    do not belong to the trace in which it was created."""
    options: Any = given.get("options")
    if given.keys() & {"cron", "every"} or (trace := current_traceparent()) is None:
        return options  # type: ignore[no-any-return]
    if not isinstance(options, Mapping | None):
        return options  # type: ignore[no-any-return]  # refused later
    return {"traceparent": trace} | dict(options or {})
