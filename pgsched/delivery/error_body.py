"""Decodes the body of a failed response into text. Decompression stops at a limit, however large the body is."""

import re
import zlib

from pgsched.delivery.exchange import Exchange
from pgsched.domain.attempt_outcome import LONGEST_ERROR

_MOST_BYTES = 4 * LONGEST_ERROR  # a character takes at most four bytes
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW = -15
_CHARSET = "charset="
TOLD = frozenset({b"location", b"content-encoding", b"content-type"})
"""The response headers, in lower case, that are needed to describe an error."""
LENGTHS = frozenset(map(len, TOLD))
_LONGEST_ADDRESS = 500
_CHARSETS = re.compile(
    r"(utf|iso|latin|windows|cp|us.?ascii|ascii|koi8|mac|shift|s.?jis|euc|gb|big5|tis)[\w.:-]*", re.IGNORECASE
)
"""Charsets that are decoded. Python's other codecs are not used, because some take quadratic time."""


def in_plain_text(answer: Exchange) -> Exchange:
    """Converts the body of a failed response to UTF-8, so that secrets in it can be found and redacted."""
    if answer.status >= 300 and answer.told:
        told = answer.told
        answer.body = error_text(
            answer.body, told.get(b"content-encoding", b""), told.get(b"content-type", b"")
        ).encode("utf-8", "replace")
        answer.address = told.get(b"location", b"")[:_LONGEST_ADDRESS]
        answer.told = None
    return answer


def error_text(body: bytes, encoding: bytes, media_type: bytes) -> str:
    """Returns the beginning of an error's body, which may be truncated, as text. If the body cannot be decompressed,
    returns a note that names the encoding.

    ``encoding`` and ``media_type`` are the values of Content-Encoding and Content-Type, empty if missing.
    """
    plain = _decompressed(body, encoding.decode("latin-1"))
    if plain is None:
        return f"(body left out: its encoding is {encoding[:50].decode('latin-1')})" if body else ""
    return _text(plain[:_MOST_BYTES], _charset(media_type.decode("latin-1"))).strip()[:LONGEST_ERROR]


def leads_to(address: bytes) -> str:
    """Returns the error text for a redirect to ``address``, which may be empty."""
    if not address:
        return "redirects are not followed; schedule the URL that the redirect leads to"
    return f"redirects are not followed; this one leads to {address.decode('utf-8', 'replace')}"


def _decompressed(body: bytes, encodings: str) -> bytes | None:
    """Decompresses the part of a body that is kept. Returns None if the encoding is unsupported or the body is
    invalid."""
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
    """Decompresses raw deflate, without a zlib header, as some servers send it."""
    try:
        return zlib.decompressobj(_RAW).decompress(body, _MOST_BYTES)
    except zlib.error:
        return None


def _charset(media_type: str) -> str:
    """Returns the charset of a media type, by default UTF-8."""
    for parameter in media_type.split(";")[1:]:
        named = parameter.strip()
        if named.lower().startswith(_CHARSET):
            charset = named[len(_CHARSET) :].strip("\"' ")
            return charset if _CHARSETS.fullmatch(charset) else "utf-8"
    return "utf-8"


def _text(plain: bytes, charset: str) -> str:
    try:
        return plain.decode(charset, "replace")
    except (LookupError, ValueError):  # an unknown charset, or a codec that is not for text
        return plain.decode("utf-8", "replace")
