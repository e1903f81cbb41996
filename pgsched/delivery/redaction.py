"""Removes secrets from answers, because a failing target may repeat the headers that it received."""

import html
import json
from collections.abc import Collection, Iterator
from urllib.parse import quote

_LEFT_OUT = "…".encode()
_SHORTEST = 4
"""The length of the shortest text that is removed: shorter ones would occur everywhere, and are not secret."""
_MOST_SEARCHED = 2 * 1024 * 1024
"""The most bytes that are searched in total, which takes a few milliseconds: an answer is searched once for each
spelling of each text. The answer is cut to stay within this."""
_TOLD_APART = 64
"""How many bytes at the beginning of a text are enough to recognize it."""

_OF_DOTNET = {ord(sign): f"\\u{ord(sign):04X}" for sign in "\"&'+<>`"} | {ord("\\"): "\\\\"}
_OF_GO = {ord(sign): f"\\u{ord(sign):04x}" for sign in "&<>"}


def redacted(texts: Collection[str], answer: bytes) -> bytes:
    """The answer with an ellipsis in place of each of these texts, also as escaped in JSON, HTML and URLs, and in place
    of the beginning of a text where the answer was cut off."""
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
    """Yields the spellings of a text. JSON encoders differ in what else they escape: PHP escapes the slash, .NET all
    characters that are special in HTML, Go some of those in lower case."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    yield from (text, html.escape(text), quote(text), quote(text, safe=""))
    for escaped in (plain, plain.replace("/", r"\/"), text.translate(_OF_DOTNET), plain.translate(_OF_GO)):
        yield escaped
        yield json.dumps(escaped, ensure_ascii=False)[1:-1]


def _without_beginning(form: bytes, answer: bytes) -> bytes:
    """Replaces the beginning of a text at the end of the answer. A long text is recognized by its first bytes, because
    comparing all of it at every position would take quadratic time."""
    known = form[:_TOLD_APART]
    at = answer.find(known, max(len(answer) - len(form) + 1, 0))
    for length in range(len(known) - 1, _SHORTEST - 1, -1):
        if at >= 0:
            break
        if answer.endswith(known[:length]):
            at = len(answer) - length
    return answer if at < 0 else answer[:at] + _LEFT_OUT
