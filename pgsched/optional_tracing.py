"""Starts recording spans if tracing is on. OpenTelemetry is imported only in that case."""

from typing import TYPE_CHECKING

from pgsched.errors import InvalidSettings
from pgsched.extras import extra
from pgsched.settings import Settings

if TYPE_CHECKING:
    from pgsched.spans import Spans


def recording(settings: Settings, service: str) -> "Spans | None":
    """Returns a span recorder for ``service``, or None if the setting ``tracing`` is off.

    Raises InvalidSettings if OpenTelemetry is not installed or rejects its environment variables.
    """
    if not settings.tracing:
        return None
    with extra("tracing", by="tracing"):
        from pgsched.spans import Spans
    try:
        return Spans(service)
    except ValueError as error:
        raise InvalidSettings(f"OpenTelemetry rejects the OTEL_… variables: {error}") from error
