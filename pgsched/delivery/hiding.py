"""What was sent in secret, left out of what came back: a target that fails may answer with the headers that it got."""

import json
from collections.abc import Collection

_LEFT_OUT = "…".encode()
_SHORTEST = 4
"""Characters of the shortest text that is hidden: less would be found everywhere, and is no secret."""


def without(texts: Collection[str], answer: bytes) -> bytes:
    """The answer with three dots in the place of each of these texts, as it is and as JSON, within JSON too, has it;
    also of the beginning of one at which the answer was cut off."""
    forms = {
        form.encode()
        for text in texts
        if len(text) >= _SHORTEST
        for form in (text, _in_json(text), _in_json(_in_json(text)))
    }
    longest_first = sorted(forms, key=len, reverse=True)
    for form in longest_first:
        answer = answer.replace(form, _LEFT_OUT)
    for form in longest_first:
        answer = _without_beginning(form, answer)
    return answer


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _without_beginning(form: bytes, answer: bytes) -> bytes:
    begins = form[:_SHORTEST]
    at = answer.find(begins, max(len(answer) - len(form) + 1, 0))
    while at >= 0 and not form.startswith(answer[at:]):
        at = answer.find(begins, at + 1)
    return answer if at < 0 else answer[:at] + _LEFT_OUT
