"""Formats payloads, options and results for display: limits their size, and hides the values of headers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from pgsched.api.problems import Unreadable

MOST_SHOWN = 16_384
"""The maximum number of characters of a payload that a page shows, or that can be edited in a form."""
HIDDEN = "…"
"""Shown instead of a header's value, which may be a password."""
_JSON = frozenset({"options", "rules", "labels"})
_HARMLESS = frozenset({"accept", "accept-language", "content-type", "content-language", "user-agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Indented JSON, with all digits of its numbers. ``size`` is the full size in bytes, even if the text is
    ``cut``."""

    text: str
    size: int
    cut: bool


def content(value: Any) -> Content:
    """Formats stored JSON, or a Python value, for display."""
    raw = bytes(value) if isinstance(value, msgspec.Raw) else msgspec.json.encode(value)
    text = msgspec.json.format(raw[: 4 * MOST_SHOWN], indent=2).decode() if len(raw) <= 4 * MOST_SHOWN else ""
    if text and len(text) <= MOST_SHOWN:
        return Content(text=text, size=len(raw), cut=False)
    begin = text or raw[: 4 * MOST_SHOWN].decode(errors="ignore")
    return Content(text=begin[:MOST_SHOWN], size=len(raw), cut=True)


def in_line(value: msgspec.Raw | None) -> str:
    """Formats a stored JSON object on one line, as ``name: value`` pairs."""
    found = msgspec.json.decode(value) if value is not None else None
    if not isinstance(found, dict):
        return "—" if found is None else str(found)
    return ", ".join(
        f"{name}: {one if isinstance(one, str) else msgspec.json.encode(one).decode()}" for name, one in found.items()
    )


def field_of_instant(at: datetime | None) -> str:
    """Formats an instant for a form field. Browsers accept at most milliseconds."""
    if at is None:
        return ""
    return at.replace(tzinfo=None).isoformat(timespec="milliseconds" if at.microsecond else "seconds")


def without_secrets(options: Any) -> Any:
    """Returns the options. Hides the values of headers unless they are known to be harmless or name a secret."""
    found = _decoded(options)
    if isinstance(found, dict) and isinstance(headers := found.get("headers"), dict):
        found["headers"] = {name: _shown(name, text) for name, text in headers.items()}
    return found


def with_secrets(text: str, options: Any) -> Any:
    """Parses edited options from a form, and restores the original values of hidden headers. Raises Unreadable."""
    found, before = parsed("options", text), _decoded(options)
    was = before.get("headers") if isinstance(before, dict) else None
    if isinstance(found, dict) and isinstance(headers := found.get("headers"), dict) and isinstance(was, dict):
        found["headers"] = {
            name: was[name] if text == HIDDEN and name in was else text for name, text in headers.items()
        }
    return found


def parsed(name: str, text: str) -> Any:
    """Parses JSON from a form. Raises Unreadable if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name} is not JSON: {error}") from None


def edited(form: Mapping[str, str], before: Mapping[str, str], options: Any) -> dict[str, Any]:
    """Returns the fields of a form that differ from their original values ``before``, converted for storage; an emptied
    field becomes None. ``options`` are the original options. Raises Unreadable if a field is invalid."""
    found: dict[str, Any] = {}
    for name, was in before.items():
        text = form.get(name, was)
        if text.replace("\r\n", "\n").strip() == was.strip():  # browsers change line endings
            continue
        if name == "payload":
            parsed(name, text or "null")
            found[name] = msgspec.Raw((text or "null").encode())
        elif name in _JSON:
            found[name] = None if not text else with_secrets(text, options) if name == "options" else parsed(name, text)
        else:
            found[name] = text if name == "target" else text or None
    return found


def as_fields(**values: Any) -> dict[str, str]:
    """Returns the texts with which to fill a form, without values that are too large for a form."""
    found = {name: None if value is None else content(value) for name, value in values.items()}
    return {name: shown.text if shown else "" for name, shown in found.items() if shown is None or not shown.cut}


def _decoded(value: Any) -> Any:
    return json.loads(bytes(value)) if isinstance(value, msgspec.Raw) else value


def _shown(name: str, text: Any) -> Any:
    return text if isinstance(text, dict) or name.lower() in _HARMLESS else HIDDEN
