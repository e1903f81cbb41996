"""Reads the status of responses whose head the parser rejects.

A target that responds ``200`` has done its work, whatever is wrong with the rest of the head, and another call would
repeat the work. So pgsched uses the first line and ``Retry-After`` of such a head. Because it is unknown where the
response ends, the body is not read and the connection is not used again.
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
    """The parts of a malformed head that are reliable."""

    status: int
    reason: bytes
    retry_after: bytes | None


def read_malformed(head: bytes) -> ReadHead:
    """Reads a complete head. Raises Malformed if the head has no status or switches to another protocol."""
    status, reason = check_first_line(head) or (0, b"")
    after = _RETRY_AFTER.search(head)
    return ReadHead(status, reason, after[1].strip()[:_LONGEST_KEPT] if after else None)


def check_first_line(head: bytes) -> tuple[int, bytes] | None:
    """Returns the status and reason in the first line of a head, or None if the line is incomplete. Raises Malformed if
    the line is invalid."""
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
