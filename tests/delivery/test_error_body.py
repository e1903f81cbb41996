"""Error text from failed targets: compressed bodies, other charsets, and redirects."""

import gzip
import zlib

import pytest

from pgsched.delivery.error_body import error_text
from pgsched.domain.attempt_outcome import LONGEST_ERROR, Failed
from tests.delivery.receiver import answering, deliver, receiving

_SAID = "no such café"


def _raw(text: bytes) -> bytes:
    return zlib.compress(text)[2:-4]


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(_SAID.encode()), "gzip"),
        (gzip.compress(_SAID.encode()), "X-GZIP"),
        (zlib.compress(_SAID.encode()), "deflate"),
        (_raw(_SAID.encode()), "deflate"),
        (_SAID.encode(), "identity"),
    ],
    ids=["gzip", "in capitals", "deflate", "deflate without its header", "identity"],
)
async def test_a_compressed_error_is_stored_as_text(body: bytes, encoding: str) -> None:
    async with receiving(answering("500 Oh", body, f"Content-Encoding: {encoding}")) as receiver:
        outcome = await deliver(receiver.url)
    assert isinstance(outcome, Failed)
    assert outcome.error == f"answered 500 Oh: {_SAID}"


@pytest.mark.parametrize("charset", ["iso-8859-1", '"Latin1"', "windows-1252", "utf-16", "UTF-8"])
async def test_an_error_is_decoded_in_its_charset(charset: str) -> None:
    body = _SAID.encode(charset.strip('"'))
    async with receiving(answering("404 Not Found", body, f"Content-Type: text/plain; charset={charset}")) as receiver:
        outcome = await deliver(receiver.url)
    assert isinstance(outcome, Failed)
    assert outcome.error == f"answered 404 Not Found: {_SAID}"


async def test_the_error_for_a_redirect_names_its_location() -> None:
    async with receiving(answering("308 Moved", b"", "Location: https://new.example/settle")) as receiver:
        outcome = await deliver(receiver.url)
    assert isinstance(outcome, Failed)
    assert outcome.error.endswith("this one leads to https://new.example/settle)")


def test_decompression_stops_at_the_stored_length() -> None:
    bomb = gzip.compress(b"0" * 8_000_000)
    assert error_text(bomb, b"gzip", b"") == "0" * LONGEST_ERROR


def test_the_readable_part_of_a_truncated_compressed_error_is_kept() -> None:
    whole = gzip.compress(bytes(range(32, 127)) * 20)
    assert error_text(whole[:-12], b"gzip", b"").startswith(' !"#'.strip())


@pytest.mark.parametrize("encoding", [b"br", b"gzip, gzip", b"gzip"])
def test_an_undecodable_body_is_described_by_its_encoding(encoding: bytes) -> None:
    assert error_text(b"\x0b\x02\x80", encoding, b"") == f"(body left out: its encoding is {encoding.decode()})"


@pytest.mark.parametrize("charset", [b"idna", b"punycode", b"zip", b"nonsense", b"cp99999"])
def test_an_unknown_charset_is_read_as_utf8(charset: bytes) -> None:
    assert error_text(_SAID.encode(), b"", b"text/plain; charset=" + charset) == _SAID
