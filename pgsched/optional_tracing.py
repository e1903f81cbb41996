"""Whether spans are recorded. OpenTelemetry is imported only where they are."""

from typing import TYPE_CHECKING

from pgsched.errors import InvalidSettings
from pgsched.extras import extra
from pgsched.settings import Settings

if TYPE_CHECKING:
    from pgsched.spans import Spans


def recording(settings: Settings, service: str) -> "Spans | None":
    """What records spans for ``service``, where the setting ``tracing`` says so.

    Raises InvalidSettings where OpenTelemetry is not installed, or refuses its variables.
    """
    if not settings.tracing:
        return None
    with extra("tracing", by="tracing"):
        from pgsched.spans import Spans
    try:
        return Spans(service)
    except ValueError as error:
        raise InvalidSettings(f"tracing: OpenTelemetry refuses its variables: {error}") from error
