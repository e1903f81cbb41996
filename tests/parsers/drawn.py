"""Nearly valid texts and JSON for parsers.

To run more examples: PGSCHED_TEST_EXAMPLES=20000 pytest tests/parsers
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

_EXAMPLES = int(os.environ.get("PGSCHED_TEST_EXAMPLES", "40"))
thoroughly = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    derandomize="PGSCHED_TEST_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

_ODD = [*"\x00\t\n\r \"'\\%#*?:;,./-+=@[]{}()<>0179aAeEzZ²٣éß\u0130\u2028\u202e\ud800\U0010ffff"]
_ODD += ["", "  ", "--", "..", "//", "\r\n", "0x", "1e9", "NaN", "null", "-1", "[[", "]]", "{{", "http://[", "T00:00Z"]
_ODD += ["9" * 20, "9" * 5000, "1e999", "0" * 300, "a" * 3000, "[" * 100, "é" * 300]
_PIECES = st.sampled_from(_ODD) | st.text(max_size=5)


@st.composite
def garbled(draw: st.DrawFn, *seeds: str) -> str:
    """Draws one of the texts with a few parts cut, doubled or replaced, or arbitrary text."""
    text = draw(st.sampled_from(seeds) | st.text(max_size=30))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 4)))
        piece = draw(_PIECES | st.just(text[start:end] * 2) | st.sampled_from(seeds))
        text = text[:start] + piece + text[end:]
    return text


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, -1, 2**31, 2**63, 1e308, "", "\x00", "PT5S", "5s", "POST", "2026-03-01T09:00:00Z"]),
    st.text(max_size=10),
)
JSON = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@st.composite
def objects(draw: st.DrawFn, examples: Mapping[str, Any]) -> dict[str, Any]:
    """Draws an object with some of these members, each as given, garbled or arbitrary, and sometimes an unknown one."""
    found: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from([*examples]), max_size=4, unique=True)):
        example = examples[name]
        inner = st.just(example) | JSON
        if isinstance(example, str):
            inner |= garbled(example)
        elif isinstance(example, dict) and example:
            inner |= objects(example)
        elif isinstance(example, list) and example:
            inner |= st.lists(st.sampled_from(example) | JSON, max_size=3)
        found[name] = draw(inner)
    if draw(st.integers(0, 5)) == 0:
        found[draw(garbled(*examples))] = draw(JSON)
    return found


def written(value: Any) -> bytes:
    """Encodes JSON, with a lone surrogate as an escape."""
    return json.dumps(value).encode()
