"""What a target that failed said, as text: its encoding and its compression are undone, however large that would be."""

import re
import zlib

from pgsched.delivery.exchange import Exchange
from pgsched.domain.attempt_outcome import LONGEST_ERROR

_MOST_BYTES = 4 * LONGEST_ERROR  # four bytes are the most a character takes
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW = -15
_CHARSET = "charset="
TOLD = frozenset({b"location", b"content-encoding", b"content-type"})
"""The headers, in lower case, that an error is told with."""
LENGTHS = frozenset(map(len, TOLD))
_LONGEST_ADDRESS = 500
_CHARSETS = re.compile(
    r"(utf|iso|latin|windows|cp|us.?ascii|ascii|koi8|mac|shift|s.?jis|euc|gb|big5|tis)[\w.:-]*", re.IGNORECASE
)
"""Charsets of texts; Python has others, some of which take the square of the length."""


def in_plain_text(answer: Exchange) -> Exchange:
    """The answer of a failure with its body as UTF-8: what is to be left out of it is found only there."""
    if answer.status >= 300 and answer.told:
        told = answer.told
        answer.body = error_text(
            answer.body, told.get(b"content-encoding", b""), told.get(b"content-type", b"")
        ).encode("utf-8", "replace")
        answer.address = told.get(b"location", b"")[:_LONGEST_ADDRESS]
        answer.told = None
    return answer


def error_text(body: bytes, encoding: bytes, media_type: bytes) -> str:
    """The beginning of an error's body, of which the end may be missing. What nobody can read is told by its encoding.

    ``encoding`` and ``media_type`` are the values of Content-Encoding and Content-Type, empty where there is none.
    """
    plain = _decompressed(body, encoding.decode("latin-1"))
    if plain is None:
        return f"(a body in the encoding {encoding[:50].decode('latin-1')})" if body else ""
    return _text(plain[:_MOST_BYTES], _charset(media_type.decode("latin-1"))).strip()[:LONGEST_ERROR]


def leads_to(address: bytes) -> str:
    """What is said of a redirect to this address, which is empty where none was given."""
    if not address:
        return "redirects are not followed: schedule the address it leads to"
    return f"redirects are not followed: it leads to {address.decode('utf-8', 'replace')}"


def _decompressed(body: bytes, encodings: str) -> bytes | None:
    """At most as much as is kept; None where an encoding is another one, or the body is not in it."""
    applied = [name for part in encodings.lower().split(",") if (name := part.strip()) not in ("", "identity")]
    if not applied:
        return body
    if len(applied) > 1 or applied[0] not in _WBITS:
        return None
    try:
        return zlib.decompressobj(_WBITS[applied[0]]).decompress(body, _MOST_BYTES)
    except zlib.error:
        return _raw(body) if applied[0] == "deflate" else None


def _raw(body: bytes) -> bytes | None:
    """Some servers send deflate without the header that it has."""
    try:
        return zlib.decompressobj(_RAW).decompress(body, _MOST_BYTES)
    except zlib.error:
        return None


def _charset(media_type: str) -> str:
    """The charset of a media type; UTF-8 where none is named."""
    for parameter in media_type.split(";")[1:]:
        named = parameter.strip()
        if named.lower().startswith(_CHARSET):
            charset = named[len(_CHARSET) :].strip("\"' ")
            return charset if _CHARSETS.fullmatch(charset) else "utf-8"
    return "utf-8"


def _text(plain: bytes, charset: str) -> str:
    try:
        return plain.decode(charset, "replace")
    except (LookupError, ValueError):  # one that nobody knows, or that is none of texts
        return plain.decode("utf-8", "replace")
