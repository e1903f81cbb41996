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

_STATUS = re.compile(rb"HTTP/[0-9](?:\.[0-9])?[ \t]+([0-9]{3})(?:[ \t]([^\r]*))?", re.IGNORECASE)
_BEGINS = b"HTTP/"
_LONGEST_KEPT = 200


class HeadRepair:
    """Reads a head in whatever pieces it comes, each byte of it once, however many interim answers stand before it."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._line = 0  # where the line begins that has not come whole
        self._status, self._reason = 0, b""
        self._headers: list[bytes] = []

    def feed(self, data: bytes) -> bytes | None:
        """What has been received with a head that every parser accepts; None while the head is not complete.

        Raises Malformed where no status can be read, where somebody wants to change the protocol, and where the head is
        too long.
        """
        seen = len(self._received)
        self._received += data
        while (ended := self._received.find(b"\n", max(self._line, seen))) >= 0:
            line = bytes(self._received[self._line : ended]).removesuffix(b"\r")
            self._line = ended + 1
            if self._line > LONGEST_HEAD:
                break
            if self._is_last(line):
                return self._written_anew()
        if len(self._received) > LONGEST_HEAD:
            raise Malformed(f"its head is over {LONGEST_HEAD} bytes")
        if not self._status:
            self._check_beginning(seen)
        return None

    def _is_last(self, line: bytes) -> bool:
        """Whether the head ends with this line. One of an interim answer is followed by another head."""
        if not self._status:
            if line.strip(b"\r"):
                self._status, self._reason = _read_status(line)
            return False
        if line:
            self._headers.append(line)
            if len(self._headers) > MOST_HEADERS:
                raise Malformed(f"it has more than {MOST_HEADERS} headers")
            return False
        if self._status >= 200:
            return True
        self._status = 0
        self._headers.clear()
        return False

    def _written_anew(self) -> bytes:
        head = b"HTTP/1.1 %d %b\r\n%bConnection: close\r\n\r\n"
        return head % (self._status, self._reason, _reliable(self._headers)) + bytes(self._received[self._line :])

    def _check_beginning(self, seen: int) -> None:
        """Raises Malformed where the first line, as far as it has come, is none of HTTP."""
        while self._received[self._line : self._line + 1] == b"\r":  # an empty line before it
            self._line += 1
        begins = bytes(self._received[self._line : self._line + len(_BEGINS)]).upper()
        if not _BEGINS.startswith(begins) or self._received.find(b"\r", max(self._line, seen - 1), -1) >= 0:
            raise Malformed("it is not HTTP")


def _read_status(line: bytes) -> tuple[int, bytes]:
    found = _STATUS.fullmatch(line)
    if found is None:
        said = line[:_LONGEST_KEPT].decode("utf-8", "replace").strip()
        raise Malformed(f"its first line has no status: {said}")
    status = int(found[1])
    if status < 100 or status == 101:
        raise Malformed(f"its status {status} was not asked for")
    return status, (found[2] or b"").lstrip(b" \t")[:_LONGEST_KEPT]


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
