"""The trace that an execution belongs to, in W3C Trace Context format.

If no spans are recorded, the caller's own ``traceparent`` is passed on, so that what an execution causes is shown below
the span that scheduled it: a made-up span would be missing from every view.
"""

import random
import re

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_OF_A_LATER_VERSION = re.compile(r"(?!ff|00)[0-9a-f]{2}(-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})(?:-.*)?")


def traceparent_in(header: str | None) -> str | None:
    """Returns the traceparent in a request's header. None if it is not of the standard's form, which says to ignore
    that. A later version is read as far as this version defines it.
    """
    if header is None or len(header) > 512:
        return None
    later = _OF_A_LATER_VERSION.fullmatch(header)
    text = f"00{later[1]}" if later else header
    return text if _TRACEPARENT.fullmatch(text) else None


def own_traceparent(id: bytes, rng: random.Random) -> str:
    """Returns the traceparent of an execution whose caller gave none. The trace is the execution's id, so that all
    attempts and their consequences belong together; the span is new.
    """
    return f"00-{id.hex()}-{rng.getrandbits(64) or 1:016x}-00"
