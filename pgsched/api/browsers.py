"""What a page can have a browser send to an address that only the browser's machine reaches: it is refused.

A page of a foreign origin may send a form there, and one whose name was made to stand for the API's address (DNS
rebinding) may read the answers, too. A browser says where a request comes from, and it asks before it sends a header
that no form has. So the API answers under the names alone that it is known by, and takes no change from a foreign page.
"""

import re
from collections.abc import Mapping

from pgsched.errors import InvalidSettings, Refused
from pgsched.settings import Settings, is_loopback

_ANY_ADDRESS = {"0.0.0.0", "::"}  # browsers take these for the machine that they run on
_NAME = re.compile(r"\*|[\w.-]+|[0-9a-f.]*:[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII)  # the last for version 6
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
_NEAR = frozenset({"same-origin", "none"})
_NO_FORMS = frozenset({"application/json", "application/x-ndjson"})
_OWN_HEADERS = ("authorization", "idempotency-key", "x-requested-with")


class Browsers:
    """The names under which the API answers; no page of another origin may ask it. Raises InvalidSettings."""

    def __init__(self, settings: Settings) -> None:
        self._hosts = {settings.host.lower(), *_names(settings.allowed_hosts)} - _ANY_ADDRESS

    def check(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises Refused."""
        self._check_origin(headers)
        if method in SAFE:
            return
        if headers.get("sec-fetch-site", "none") not in _NEAR:
            raise Refused("a page of another site may not change anything here")
        is_json = headers.get("content-type", "").partition(";")[0].strip().lower() in _NO_FORMS
        if not is_json and not any(name in headers for name in _OWN_HEADERS):
            raise Refused(
                "a page of another site could have sent this: send Content-Type: application/json, or the header "
                "X-Requested-With with any value"
            )

    def check_page(self, method: str, headers: Mapping[str, str]) -> None:
        """Raises Refused. A form of ours is told from another site's by what the browser says of where it comes from; a
        request of which no browser says that changes nothing."""
        self._check_origin(headers)
        told = headers.get("sec-fetch-site", "same-origin" if "origin" in headers else None)
        if method not in SAFE and told != "same-origin":
            raise Refused("only the dashboard's own forms change something here; programs use the API under /v1")

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        host = headers.get("host", "")
        if not self._answers_as(_name_of(host)):
            raise Refused(
                f"the API does not answer as {host[:100]!r}: use an address that it has, or set allowed_hosts"
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise Refused(f"pages of {origin[:100]!r} may not ask the API, which answers as {host[:100]!r}")

    def _answers_as(self, name: str) -> bool:
        return "*" in self._hosts or name in self._hosts or is_loopback(name)


def _names(text: str) -> set[str]:
    """Raises InvalidSettings for what no request can be addressed to."""
    names = {name.strip().lower() for name in text.split(",") if name.strip()}
    for name in names:
        if not _NAME.fullmatch(name):
            raise InvalidSettings(
                f"allowed_hosts has {name[:80]!r}; write names alone, without scheme, port and path: pgsched.example"
            )
    return names


def _name_of(host: str) -> str:
    """Without the port; of an address of version 6, without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
