"""Whether spans are recorded. OpenTelemetry is imported only where they are."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from pgsched.errors import InvalidSettings
from pgsched.extras import extra
from pgsched.settings import Settings

if TYPE_CHECKING:
    from pgsched.spans import Spans


class Tracing:
    """Records spans for ``service`` where the setting ``tracing`` says so.

    Raises InvalidSettings where OpenTelemetry is not installed, or refuses its variables.
    """

    def __init__(self, settings: Settings, service: str) -> None:
        self.spans = _start(service) if settings.tracing else None

    def scheduling(self, traceparent: str | None, target: str) -> AbstractContextManager[str | None]:
        """A span about the block, if any. Gives the ``traceparent`` of what is scheduled in it."""
        return nullcontext(traceparent) if self.spans is None else self.spans.scheduling(traceparent, target)

    def close(self) -> None:
        """Sends what is left, for a few seconds."""
        if self.spans is not None:
            self.spans.close()


def _start(service: str) -> "Spans":
    with extra("tracing", by="tracing"):
        from pgsched.spans import Spans
    try:
        return Spans(service)
    except ValueError as error:
        raise InvalidSettings(f"tracing: OpenTelemetry refuses its variables: {error}") from error
