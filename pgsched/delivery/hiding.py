"""What was sent in secret, left out of what came back: a target that fails may answer with the headers that it got."""

import html
import json
from collections.abc import Collection, Iterator
from urllib.parse import quote

_LEFT_OUT = "…".encode()
_SHORTEST = 4
"""Characters of the shortest text that is hidden: less would be found everywhere, and is no secret."""


_OF_DOTNET = {ord(sign): f"\\u{ord(sign):04X}" for sign in "\"&'+<>`"} | {ord("\\"): "\\\\"}
_OF_GO = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}


def without(texts: Collection[str], answer: bytes) -> bytes:
    """The answer with three dots in the place of each of these texts, as it is and as JSON, HTML and URLs have it; also
    of the beginning of one at which the answer was cut off."""
    if len(answer) < _SHORTEST:
        return answer
    forms = {form.encode() for text in texts if len(text) >= _SHORTEST for form in _forms_of(text)}
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
    begins = form[:_SHORTEST]
    at = answer.find(begins, max(len(answer) - len(form) + 1, 0))
    while at >= 0 and not form.startswith(answer[at:]):
        at = answer.find(begins, at + 1)
    return answer if at < 0 else answer[:at] + _LEFT_OUT
