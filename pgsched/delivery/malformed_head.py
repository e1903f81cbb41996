"""Heads of answers that the parser refuses, although their status can be read.

A target that answers ``200`` has done its work, whatever else is wrong with the head: two lengths, a length beside
chunks, a space before a colon, a line without one. To call it once more would do the work twice, and other clients take
such an answer. So such a head counts by its first line and ``Retry-After``. Its body is not read and the connection not
used again, for nobody knows where they end.
"""

import re
from typing import NamedTuple

from pgsched.delivery.exchange import Malformed

LONGEST_HEAD = 65_536
"""Bytes the head of an answer may have, interim answers before it included."""

_BEGINS = b"HTTP/"
_STATUS = re.compile(rb"HTTP/[0-9](?:\.[0-9])?[ \t]+([0-9]{3})(?:[ \t]([^\r]*))?\r?", re.IGNORECASE)
_END = re.compile(rb"\n\r?\n")
_RETRY_AFTER = re.compile(rb"\nretry-after[ \t]*:([^\r\n]*)", re.IGNORECASE)
_LONGEST_KEPT = 200
_LONGEST_LINE = 512


class ReadHead(NamedTuple):
    """What can be relied on."""

    status: int
    reason: bytes
    retry_after: bytes | None


class MalformedHead:
    """Takes a head in whatever pieces it comes, and looks for its end in each of them once."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._interim = 0  # bytes of interim answers, which are left out

    def feed(self, data: bytes) -> ReadHead | None:
        """The head once it is complete; None before.

        Raises Malformed where no status can be read, where somebody wants to change the protocol, and where the head is
        too long.
        """
        searched = max(len(self._received) - 2, 0)
        self._received += data
        while (found := self._first_line()) and (end := _END.search(self._received, searched)):
            if self._interim + end.end() > LONGEST_HEAD:
                break
            status, reason = found
            if status >= 200:
                after = _RETRY_AFTER.search(self._received, 0, end.end())
                return ReadHead(status, reason, after[1].strip()[:_LONGEST_KEPT] if after else None)
            self._interim += end.end()
            del self._received[: end.end()]
            searched = 0
        if self._interim + len(self._received) > LONGEST_HEAD:
            raise Malformed(f"its head is over {LONGEST_HEAD} bytes")
        return None

    def _first_line(self) -> tuple[int, bytes] | None:
        """Status and reason; None where the line has not come whole. Empty lines before it are dropped."""
        while self._received.startswith((b"\r", b"\n")):
            del self._received[:1]
        line, ended, _ = bytes(self._received[:_LONGEST_LINE]).partition(b"\n")
        if not _BEGINS.startswith(line[: len(_BEGINS)].upper()) or (not ended and b"\r" in line[:-1]):
            raise Malformed("it is not HTTP")
        if not ended and len(line) < _LONGEST_LINE:
            return None
        found = _STATUS.fullmatch(line)
        if found is None:
            said = line[:_LONGEST_KEPT].decode("utf-8", "replace").strip()
            raise Malformed(f"its first line has no status: {said}")
        status = int(found[1])
        if status < 100 or status == 101:
            raise Malformed(f"its status {status} was not asked for")
        return status, (found[2] or b"").lstrip(b" \t")[:_LONGEST_KEPT]
