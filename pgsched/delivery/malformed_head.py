"""Heads of answers that the parser refuses, although their status can be read.

A target that answers ``200`` has done its work, whatever else is wrong with the head: two lengths, a length beside
chunks, a space before a colon, a line without one. To call it once more would do the work twice, and other clients take
such an answer. So such a head counts by its first line and ``Retry-After``. Its body is not read and the connection not
used again, for nobody knows where they end.
"""

import re
from typing import NamedTuple

from pgsched.delivery.exchange import Malformed

_BEGINS = b"HTTP/"
_STATUS = re.compile(rb"HTTP/[0-9](?:\.[0-9])?[ \t]+([0-9]{3})(?:[ \t]([^\r]*))?\r?", re.IGNORECASE)
_RETRY_AFTER = re.compile(rb"\nretry-after[ \t]*:([^\r\n]*)", re.IGNORECASE)
_LONGEST_KEPT = 200
_LONGEST_LINE = 512


class ReadHead(NamedTuple):
    """What can be relied on."""

    status: int
    reason: bytes
    retry_after: bytes | None


def read_malformed(head: bytes) -> ReadHead:
    """What a whole head says. Raises Malformed where no status can be read, or the protocol is to change."""
    status, reason = check_first_line(head) or (0, b"")
    after = _RETRY_AFTER.search(head)
    return ReadHead(status, reason, after[1].strip()[:_LONGEST_KEPT] if after else None)


def check_first_line(head: bytes) -> tuple[int, bytes] | None:
    """Status and reason; None where the line has not come whole. Raises Malformed."""
    line, ended, _ = head[:_LONGEST_LINE].partition(b"\n")
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
