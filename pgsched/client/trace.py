"""The trace that the calling program is in, if it records one by OpenTelemetry."""

import sys
from collections.abc import Mapping
from typing import Any


def current_traceparent() -> str | None:
    """The current span as W3C Trace Context writes it; None outside of one. Who does not use OpenTelemetry does not
    import it."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


def within_trace(given: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The options of what is scheduled, with the current trace unless they name one. The runs of a job are no part of
    the trace in which it was made."""
    options: Any = given.get("options")
    if given.keys() & {"cron", "every"} or (trace := current_traceparent()) is None:
        return options  # type: ignore[no-any-return]
    if not isinstance(options, Mapping | None):
        return options  # type: ignore[no-any-return]  # to be refused
    return {"traceparent": trace} | dict(options or {})
