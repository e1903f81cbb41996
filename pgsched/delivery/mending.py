"""Heads of answers that the parser refuses, although their status can be read.

A target that answers ``200`` has done its work, whatever else is wrong with the head: two lengths, a length beside
chunks, a space before a colon, a line without one. To call it once more would do the work twice, and other clients take
such an answer. So the head is written anew with what can be relied on: the status, the reason, ``Retry-After``, and how
long the body is, if only one length is said. The connection is not used again, for nobody knows where the next
answer would begin.
"""

import re

from pgsched.delivery.exchange import Malformed

LONGEST_HEAD = 65_536
"""Bytes the head of an answer may have, interim answers before it included."""
MOST_HEADERS = 256
"""Header lines an answer may have."""

_STATUS = re.compile(rb"HTTP/[0-9](?:\.[0-9])?[ \t]+([0-9]{3})(?:[ \t]+([^\r]*))?\r?", re.IGNORECASE)
_END = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"\r?\n")
_LONGEST_KEPT = 200


def mend(received: bytes) -> bytes | None:
    """The received bytes with a head that every parser accepts; None while the head is not complete.

    Raises Malformed where no status can be read, where somebody wants to change the protocol, and where the head is too
    long.
    """
    at = len(received) - len(received.lstrip(b"\r\n"))
    while True:
        status, reason = _status_at(received, at)
        end = _END.search(received, at)
        if received.count(b"\n", at, end.start() if end else len(received)) > MOST_HEADERS:
            raise Malformed(f"it has more than {MOST_HEADERS} headers")
        if (end.end() if end else len(received)) > LONGEST_HEAD:
            raise Malformed(f"its head is over {LONGEST_HEAD} bytes")
        if end is None:
            return None
        if status >= 200:
            kept = _reliable(_LINE.split(received[at : end.start()])[1:])
            return b"HTTP/1.1 %d %b\r\n%bConnection: close\r\n\r\n" % (status, reason, kept) + received[end.end() :]
        at = end.end()


def _status_at(received: bytes, at: int) -> tuple[int, bytes]:
    """The status and the reason; 100 as long as the line is not complete."""
    ended = received.find(b"\n", at)
    if ended < 0:
        if b"HTTP/".startswith(received[at : at + 5].upper()) and received.find(b"\r", at, -1) < 0:
            return 100, b""
        raise Malformed("it is not HTTP")
    found = _STATUS.fullmatch(received, at, ended)
    if found is None:
        said = received[at : min(ended, at + _LONGEST_KEPT)].decode("utf-8", "replace").strip()
        raise Malformed(f"its first line has no status: {said}")
    status = int(found[1])
    if status < 100 or status == 101:
        raise Malformed(f"its status {status} was not asked for")
    return status, (found[2] or b"")[:_LONGEST_KEPT]


def _reliable(lines: list[bytes]) -> bytes:
    """The header lines that matter, each at most once and as it should be written."""
    said: dict[bytes, list[bytes]] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        said.setdefault(name.strip().lower(), []).append(value.strip())
    kept = b""
    if after := said.get(b"retry-after"):
        kept += b"Retry-After: %b\r\n" % after[0][:_LONGEST_KEPT].replace(b"\r", b" ")
    if codings := said.get(b"transfer-encoding"):
        chunked = codings[-1].lower().endswith(b"chunked")
        return kept + (b"Transfer-Encoding: chunked\r\n" if chunked else b"")
    lengths = {length.strip() for value in said.get(b"content-length", ()) for length in value.split(b",")}
    if len(lengths) == 1 and re.fullmatch(rb"[0-9]{1,15}", length := lengths.pop()):
        kept += b"Content-Length: %b\r\n" % length
    return kept
