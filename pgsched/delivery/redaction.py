"""What was sent in secret, left out of what came back: a target that fails may answer with the headers that it got."""

import html
import json
from collections.abc import Collection, Iterator
from urllib.parse import quote

_LEFT_OUT = "…".encode()
_SHORTEST = 4
"""Characters of the shortest text that is hidden: less would be found everywhere, and is no secret."""
_MOST_SEARCHED = 2 * 1024 * 1024
"""Bytes that are searched in all, a few milliseconds: an answer is searched once for each way to write each text. What
would be more is left out of the answer."""
_TOLD_APART = 64
"""Bytes at the beginning of a text that are enough to know it by."""

_OF_DOTNET = {ord(sign): f"\\u{ord(sign):04X}" for sign in "\"&'+<>`"} | {ord("\\"): "\\\\"}
_OF_GO = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}


def redacted(texts: Collection[str], answer: bytes) -> bytes:
    """The answer with three dots in the place of each of these texts, as it is and as JSON, HTML and URLs have it; also
    of the beginning of one at which the answer was cut off."""
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
    """Encoders differ in what they escape beyond what JSON asks for: PHP's the slash, .NET's whatever HTML has a use
    for, Go's some of that in lower case."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    yield from (text, html.escape(text), quote(text), quote(text, safe=""))
    for escaped in (plain, plain.replace("/", r"\/"), text.translate(_OF_DOTNET), plain.translate(_OF_GO)):
        yield escaped
        yield json.dumps(escaped, ensure_ascii=False)[1:-1]


def _without_beginning(form: bytes, answer: bytes) -> bytes:
    """A long text is known by its first bytes: to compare all of it at each place would take the square of it."""
    known = form[:_TOLD_APART]
    at = answer.find(known, max(len(answer) - len(form) + 1, 0))
    for length in range(len(known) - 1, _SHORTEST - 1, -1):
        if at >= 0:
            break
        if answer.endswith(known[:length]):
            at = len(answer) - length
    return answer if at < 0 else answer[:at] + _LEFT_OUT
