"""Reads the status of answers whose head the parser rejects.

A target that answers ``200`` has done its work, whatever else is wrong with the head: two lengths, a length as well as
chunks, a space before a colon, a line without a colon. Calling it again would repeat the work, and other HTTP clients
accept such answers. So the first line and ``Retry-After`` of such a head count. The body is not read and the connection
is not used again, because it is unknown where they end.
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
    """The parts of a malformed head that can be relied on."""

    status: int
    reason: bytes
    retry_after: bytes | None


def read_malformed(head: bytes) -> ReadHead:
    """Reads a complete head. Raises Malformed if it has no status, or if the protocol would change."""
    status, reason = check_first_line(head) or (0, b"")
    after = _RETRY_AFTER.search(head)
    return ReadHead(status, reason, after[1].strip()[:_LONGEST_KEPT] if after else None)


def check_first_line(head: bytes) -> tuple[int, bytes] | None:
    """The status and reason; None if the line is incomplete. Raises Malformed."""
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
        raise Malformed(f"its status {status} is unexpected")
    return status, (found[2] or b"").lstrip(b" \t")[:_LONGEST_KEPT]
