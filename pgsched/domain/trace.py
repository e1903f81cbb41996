"""The trace that an execution belongs to, in W3C Trace Context format.

If pgsched records no spans, it passes the caller's ``traceparent`` on unchanged. Tracing tools then show the effects of
an execution below the span that scheduled it. An invented span id would refer to a span that does not exist.
"""

import random
import re

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_OF_A_LATER_VERSION = re.compile(r"(?!ff|00)[0-9a-f]{2}(-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})(?:-.*)?")


def traceparent_in(header: str | None) -> str | None:
    """Returns the traceparent in a request's header. Returns None if it is malformed, because the standard says to
    ignore such a header. A header of a later version is converted to this version.
    """
    if header is None or len(header) > 512:
        return None
    later = _OF_A_LATER_VERSION.fullmatch(header)
    text = f"00{later[1]}" if later else header
    return text if _TRACEPARENT.fullmatch(text) else None


def own_traceparent(id: bytes, rng: random.Random) -> str:
    """Returns a traceparent for an execution whose caller gave none. The trace id is the execution's id, so that all
    its attempts belong to one trace. The span id is random.
    """
    return f"00-{id.hex()}-{rng.getrandbits(64) or 1:016x}-00"
