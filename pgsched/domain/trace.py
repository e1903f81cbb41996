"""The trace that an execution belongs to, as W3C Trace Context writes it.

Where no spans are recorded, what is handed on of a caller's trace is the caller's own ``traceparent``, and what an
execution causes is shown beneath the span that scheduled it: a span made up here would be missing from every view.
"""

import random
import re

_TRACEPARENT = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_OF_A_LATER_VERSION = re.compile(r"(?!ff|00)[0-9a-f]{2}(-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})(?:-.*)?")


def traceparent_in(header: str | None) -> str | None:
    """What a request says of its trace; None for what is not of the standard's form, which says to ignore that. One of
    a later version is taken for what this version knows of it."""
    if header is None or len(header) > 512:
        return None
    later = _OF_A_LATER_VERSION.fullmatch(header)
    text = f"00{later[1]}" if later else header
    return text if _TRACEPARENT.fullmatch(text) else None


def own_traceparent(id: bytes, rng: random.Random) -> str:
    """That of an execution whose caller named none: its id is the trace, so that all attempts, and whatever they cause,
    are one; the span is new."""
    return f"00-{id.hex()}-{rng.getrandbits(64) or 1:016x}-00"
