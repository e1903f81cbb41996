"""The headers of a callback: the scheduled ones, and what pgsched says about the attempt."""

import random
from functools import lru_cache

from multidict import CIMultiDict, istr

from pgsched.delivery.signature import sign
from pgsched.domain.execution import Execution, instant_text, uuid_text
from pgsched.version import __version__

_UNIX_TO_2000 = 946_684_800
_IDEMPOTENCY_KEY = istr("Idempotency-Key")
_WEBHOOK_ID = istr("webhook-id")
_WEBHOOK_TIMESTAMP = istr("webhook-timestamp")
_WEBHOOK_SIGNATURE = istr("webhook-signature")
_ATTEMPT = istr("pgsched-attempt")
_SCHEDULED_FOR = istr("pgsched-scheduled-for")
_DEADLINE = istr("pgsched-deadline")
_TRACEPARENT = istr("traceparent")


def compose(
    execution: Execution,
    scheduled: tuple[tuple[str, str], ...],
    *,
    now: int,
    deadline: float,
    secret: bytes | None,
    rng: random.Random,
) -> CIMultiDict[str]:
    """All headers of one attempt. ``now`` is the database's time in seconds since 1970, ``deadline``
    seconds from it.

    The trace id is the execution's id, so that all attempts, and whatever they cause, are one trace; the
    span is new.
    """
    id = uuid_text(execution.id)
    headers = _constant(scheduled, execution.payload is not None).copy()
    headers[_IDEMPOTENCY_KEY] = id
    headers[_WEBHOOK_ID] = id
    headers[_WEBHOOK_TIMESTAMP] = str(now)
    headers[_ATTEMPT] = str(execution.attempt)
    headers[_SCHEDULED_FOR] = instant_text(execution.scheduled_for)
    headers[_DEADLINE] = instant_text((now - _UNIX_TO_2000 + int(deadline)) * 1_000_000)
    headers[_TRACEPARENT] = f"00-{execution.id.hex()}-{rng.getrandbits(64) or 1:016x}-00"
    if secret is not None:
        headers[_WEBHOOK_SIGNATURE] = sign(secret, id, now, execution.payload or b"")
    return headers


@lru_cache(maxsize=4096)
def _constant(scheduled: tuple[tuple[str, str], ...], has_body: bool) -> CIMultiDict[str]:
    headers = CIMultiDict(scheduled)
    if has_body:
        headers["Content-Type"] = "application/json"
    # Answers are kept as text; a compressed one would have to be unpacked first.
    headers["Accept-Encoding"] = "identity"
    headers["User-Agent"] = f"pgsched/{__version__}"
    return headers
