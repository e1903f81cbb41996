"""The version of the IANA time zone rules in this process: that of the files which zoneinfo reads.

Versions such as ``2025b`` compare as text.
"""

import re
import zoneinfo
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

_SOME_ZONE = Path("Europe", "Berlin")
_VERSION = re.compile(r"\d{4}[a-z]+")


def version_in_use(places: Sequence[str] | None = None) -> str | None:
    """The version, such as ``2025b``; None where the rules do not say it. ``places`` is ``zoneinfo.TZPATH``.

    As zoneinfo does, the first place that has a zone counts, and the package ``tzdata`` only where there is none.
    """
    for place in map(Path, zoneinfo.TZPATH if places is None else places):
        if (place / _SOME_ZONE).is_file():
            return _version_at(place)
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except (ImportError, AttributeError):
        return None


def _version_at(place: Path) -> str | None:
    for name in ("tzdata.zi", "+VERSION"):
        try:
            with (place / name).open(encoding="utf-8") as file:
                first = file.readline(100)
        except (OSError, UnicodeDecodeError):
            continue
        if found := _VERSION.search(first):
            return found[0]
    return None
