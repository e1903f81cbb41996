"""Finds passwords in URLs, connection parameters and JSON objects, and redacts them in text that is shown.

>>> without_passwords("postgresql://shop:hush@db.example/shop")
'postgresql://shop:…@db.example/shop'
"""

import re

_LEFT_OUT = "…"
_NAMED = r"[\w.]*(?:password|\.client\.secret|ssl\.key\.pem)"
_PASSWORD = re.compile(
    rf"""(?P<before>://[^\s/?\#@:]*:) [^\s/?\#]+ (?=@)              # postgresql://user:password@host
    | (?P<json>"{_NAMED}" \s*:\s* ") (?:[^"\\]|\\.)+                 # {{"sasl.password": "password"}}
    | (?P<given>(?<![\w.]){_NAMED} \s*=\s*) (?:'(?:[^'\\]|\\.)+' | [^\s'"&]+)  # ?password=password, password='password'
    """,
    re.VERBOSE | re.IGNORECASE,
)


def has_password(text: str) -> bool:
    """Whether the text contains a password in a URL, in connection parameters or in a JSON object."""
    return _PASSWORD.search(text) is not None


def without_passwords(text: str) -> str:
    """Replaces each password in the text with an ellipsis."""
    return _PASSWORD.sub(lambda found: (found["before"] or found["json"] or found["given"]) + _LEFT_OUT, text)
