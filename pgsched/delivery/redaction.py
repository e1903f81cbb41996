"""Redacts secrets from responses, because a failing target may repeat the headers that it received."""

import html
import json
from collections.abc import Collection, Iterator
from urllib.parse import quote

_LEFT_OUT = "…".encode()
_SHORTEST = 4
"""Minimum length of a text that is redacted. Shorter texts would occur everywhere, and cannot be secret."""
_MOST_SEARCHED = 2 * 1024 * 1024
"""Maximum number of bytes searched per response, which takes a few milliseconds. A response is searched once for each
spelling of each text, so a response that would exceed the limit is cut."""
_TOLD_APART = 64
"""Number of bytes at the beginning of a text that are enough to recognize it."""

_OF_DOTNET = {ord(sign): f"\\u{ord(sign):04X}" for sign in "\"&'+<>`"} | {ord("\\"): "\\\\"}
_OF_GO = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}


def redacted(texts: Collection[str], answer: bytes) -> bytes:
    """Replaces each of these texts in a response with an ellipsis, including spellings with JSON, HTML or URL escapes.
    If the response was cut off within a text, also replaces the beginning of that text."""
    if len(answer) < _SHORTEST:
        return answer
    forms = {form.encode() for text in texts if len(text) >= _SHORTEST for form in _forms_of(text)}
    answer = answer[: _MOST_SEARCHED // max(len(forms), 1)]
    longest_first = sorted(forms, key=len, reverse=True)
    for form in longest_first:
        answer = answer.replace(form, _LEFT_OUT)
    for form in longest_first:
        answer = _without_beginning(form, answer)
    return answer


def _forms_of(text: str) -> Iterator[str]:
    """Yields the spellings of a text. JSON encoders escape different characters: PHP escapes the slash; .NET escapes
    all characters that are special in HTML; Go escapes some of these, with lower-case digits."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    yield from (text, html.escape(text), quote(text), quote(text, safe=""))
    for escaped in (plain, plain.replace("/", r"\/"), text.translate(_OF_DOTNET), plain.translate(_OF_GO)):
        yield escaped
        yield json.dumps(escaped, ensure_ascii=False)[1:-1]


def _without_beginning(form: bytes, answer: bytes) -> bytes:
    """Redacts a text of which the response ends with only the beginning. A long text is recognized by its first bytes,
    because comparing the whole text at every position would take quadratic time."""
    known = form[:_TOLD_APART]
    at = answer.find(known, max(len(answer) - len(form) + 1, 0))
    for length in range(len(known) - 1, _SHORTEST - 1, -1):
        if at >= 0:
            break
        if answer.endswith(known[:length]):
            at = len(answer) - length
    return answer if at < 0 else answer[:at] + _LEFT_OUT
