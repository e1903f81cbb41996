"""Finds passwords in URLs, connection parameters and JSON objects, and removes them from text that is shown.

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
    """The text with an ellipsis in place of each password."""
    return _PASSWORD.sub(lambda found: (found["before"] or found["json"] or found["given"]) + _LEFT_OUT, text)
