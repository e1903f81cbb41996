"""Records attempts as spans of a trace. This module is imported only if the setting ``tracing`` is on."""

import asyncio
from dataclasses import replace

from pgsched.delivery.channel import Channel
from pgsched.domain.attempt_outcome import Failed, Outcome, Postponed, Succeeded
from pgsched.domain.execution import ClaimedExecution, uuid_text
from pgsched.domain.execution_options import Options
from pgsched.spans import AttemptSpan, Attributes, Spans

_EPOCH = 946_684_800_000_000
"""The microseconds from 1970 to 2000."""
_LONGEST = 256


class TracingChannel:
    """A channel that records each attempt as a span. The span is the current span in handlers, and the ``traceparent``
    of callbacks and messages."""

    def __init__(self, channel: Channel, spans: Spans) -> None:
        self._channel, self._spans = channel, spans

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        due = (execution.fire_at + _EPOCH) * 1000
        with self._spans.attempt(options.traceparent, due, _told(execution)) as attempt:
            given = replace(options, traceparent=attempt.traceparent)
            try:  # after NoFreeSlot, the span is not ended and therefore not recorded, because nothing has begun
                outcome = await self._channel.deliver(execution, given, deadline)
            except asyncio.CancelledError:
                attempt.end("cancelled", error="the attempt was cancelled or timed out")
                raise
        _end(attempt, outcome)
        return outcome

    async def close(self) -> None:
        await self._channel.close()


def _told(execution: ClaimedExecution) -> Attributes:
    told: Attributes = {
        "pgsched.execution": execution.uuid,
        "pgsched.client": execution.client_id,
        "pgsched.target": execution.target[:_LONGEST],
        "pgsched.channel": execution.target.partition(":")[0].lower(),
        "pgsched.attempt": execution.attempt,
    }
    if execution.key is not None:
        told["pgsched.key"] = execution.key
    if execution.job_id is not None:
        told["pgsched.job"] = uuid_text(execution.job_id)
    return told


def _end(attempt: AttemptSpan, outcome: Outcome) -> None:
    match outcome:
        case Succeeded(status_code=code):
            attempt.end("succeeded", status_code=code)
        case Failed(error=error, status_code=code):
            attempt.end("failed", error=error, status_code=code)
        case Postponed(reason=reason):
            attempt.end("postponed", reason=reason)
        case _:
            attempt.end(type(outcome).__name__.lower())
