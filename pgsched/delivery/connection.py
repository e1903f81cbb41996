"""An HTTP connection, which carries one exchange at a time.

A connection is new, open or dead. A new connection has sent nothing, and its slot still belongs to the exchange that
opened the connection. An open connection holds a slot of its host, and is either parked or busy with an exchange. The
parser (llhttp) decides where a response ends. Any data after that end, or while the connection is parked, closes the
connection, so that the data cannot be mistaken for the response to the next request.

Failures:

- The peer closes a used connection without sending anything, so it probably has not accepted the request. The exchange
  is sent once more, on a fresh connection. If that is closed in the same way, the exchange fails.
- The peer closes before the head of the response is complete, or sends a response without a status. The exchange fails.
- The parser rejects the head. The head's first line decides (``malformed_head``), and the connection is not used again.
  The parser is given each head as a whole, so that its first line is available.
- Something fails after the head. The status decides, and the connection is not used again.
- The exchange is cancelled or expires. The connection is aborted, and unread data is discarded.
"""

import asyncio
import re
from enum import Enum, auto
from typing import TYPE_CHECKING, cast

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser

from pgsched.delivery.error_body import LENGTHS, TOLD
from pgsched.delivery.exchange import Dropped, Exchange, Malformed
from pgsched.delivery.malformed_head import check_first_line, read_malformed
from pgsched.domain.attempt_outcome import LONGEST_ERROR

if TYPE_CHECKING:
    from pgsched.delivery.pool import OriginSlots

LONGEST_HEAD = 65_536
"""Maximum size of a response's head in bytes, including the heads of interim responses before it."""
LONGEST_BODY = 65_536
"""Maximum number of bytes that are read from a response's body."""
MOST_HEADERS = 256
"""Maximum number of header lines in a response."""

_LONGEST_ANSWER = LONGEST_HEAD + 2 * LONGEST_BODY  # bytes on the wire, including chunk headers
_END = re.compile(rb"\n\r?\n")
_KEPT = 4 * LONGEST_ERROR  # a character takes at most four bytes
_MOST_PIECES = 4_096  # maximum number of reads for a body
_BODY_SECONDS = 1.0
_LAST_MOMENT = 0.1  # reading the body stops this many seconds before the caller gives up, so that the status counts
_SMALL_REQUEST = 65_536


class ConnectionState(Enum):
    NEW = auto()
    OPEN = auto()
    DEAD = auto()


class Connection(asyncio.Protocol):
    """Sends requests and parses responses. ``owner`` manages the slots of the connection's origin. The connection is
    not parked after the time ``retires``."""

    __slots__ = (
        "_head",
        "_heard",
        "_is_refused",
        "_keep",
        "_loop",
        "_owner",
        "_parser",
        "_pieces",
        "_searched",
        "_state",
        "_transport",
        "_used",
        "exchange",
        "retires",
    )

    def __init__(self, owner: "OriginSlots", loop: asyncio.AbstractEventLoop, *, lifetime: float) -> None:
        self._owner, self._loop = owner, loop
        self.retires = loop.time() + lifetime
        self.exchange: Exchange | None = None
        self._heard: Exchange  # the exchange whose data is being parsed
        self._transport: asyncio.Transport
        self._state = ConnectionState.NEW
        self._used = self._keep = self._is_refused = False
        self._head = b""  # the part of a head received so far; parsing a part costs as much as parsing a whole head
        self._searched = self._pieces = 0
        self._parser = HttpResponseParser(self)
        # The parser is lenient: the status counts even if line ends or header values are slightly wrong.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    def start(self, exchange: Exchange) -> None:
        """Sends the request. The exchange ends when the response has arrived."""
        if self._state is ConnectionState.DEAD:
            exchange.end(Dropped(0, None))
            self._owner.vacate()
            return
        if self._state is ConnectionState.NEW:
            self._state = ConnectionState.OPEN
            self._owner.opened(self)
        self._keep, self._searched, self._pieces = False, 0, 0
        self.exchange = self._heard = exchange
        exchange.connection = self
        self._transport.write(exchange.request)

    def discard(self, error: Exception | None = None, *, politely: bool = False) -> None:
        """Ends the connection and its exchange. If no status has arrived, the exchange ends with ``error``. With
        ``politely``, shuts down TLS properly."""
        was, self._state = self._state, ConnectionState.DEAD
        exchange, self.exchange = self.exchange, None
        if politely:
            self._transport.close()
        else:
            self._transport.abort()
        if exchange is not None:
            exchange.end(error or Dropped(exchange.received, None))
        else:
            self._owner.unpark(self)
        if was is ConnectionState.OPEN:
            self._owner.vacate()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        exchange = self.exchange
        if exchange is None:
            self.discard()
            return
        exchange.received += len(data)
        try:
            if not exchange.status:
                data = self._read_heads(exchange, data)
            if data:
                self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade, Malformed) as error:
            self.discard(_malformed(error))
            return
        if exchange.complete:
            self._finish(exchange)
        elif exchange.status:
            self._pieces += 1
            if exchange.received > _LONGEST_ANSWER or self._pieces > _MOST_PIECES:
                self.discard()

    def connection_lost(self, error: Exception | None) -> None:
        self._owner.closed(self)
        was, self._state = self._state, ConnectionState.DEAD
        exchange, self.exchange = self.exchange, None
        if was is not ConnectionState.OPEN:
            return
        if exchange is None:
            self._owner.unpark(self)
        elif self._used and not exchange.received and not exchange.again and exchange.offer_slot():
            exchange.connection, exchange.again = None, True
            return
        else:
            exchange.end(Dropped(exchange.received, error))
        self._owner.vacate()

    def on_message_begin(self) -> None:
        if self._heard.complete:
            raise Malformed("a second response follows it")

    def on_status(self, reason: bytes) -> None:
        self._heard.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._heard
        exchange.headers += 1
        if exchange.headers > MOST_HEADERS:
            raise Malformed(f"it has more than {MOST_HEADERS} headers")
        # Trailers after the body are not headers.
        if exchange.status:
            return
        if len(name) == 11 and name.lower() == b"retry-after":
            exchange.retry_after = value
        elif len(name) in LENGTHS and self._parser.get_status_code() >= 300 and (lower := name.lower()) in TOLD:
            exchange.told = exchange.told or {}
            exchange.told[lower] = value

    def on_headers_complete(self) -> None:
        exchange, status = self._heard, self._parser.get_status_code()
        if status < 100 or status == 101:
            raise Malformed(f"its status {status} is unexpected")
        if status >= 200:
            exchange.status, exchange.complete = status, exchange.bodiless
            exchange.expires = min(self._loop.time() + _BODY_SECONDS, exchange.expires - _LAST_MOMENT)

    def on_body(self, body: bytes) -> None:
        exchange = self._heard
        exchange.length += len(body)
        if exchange.length > LONGEST_BODY:
            raise Malformed(f"its body is over {LONGEST_BODY} bytes")
        if exchange.length - len(body) < (_KEPT if exchange.status >= 300 else exchange.keeps):
            exchange.pieces = exchange.pieces or []
            exchange.pieces.append(body)

    def on_message_complete(self) -> None:
        exchange = self._heard
        if exchange.status:
            self._keep = self._parser.should_keep_alive() and not exchange.bodiless
            exchange.complete = True
        else:  # an interim response, such as 103; the final one follows
            exchange.reason, exchange.retry_after, exchange.told = b"", None, None

    def _read_heads(self, exchange: Exchange, data: bytes) -> bytes:
        """Reads the head of the response, and those of any interim responses before it, each when it is complete.
        Returns the part of the body that has arrived."""
        head, self._head = self._head + data, b""
        while not exchange.status:
            head = head.lstrip(b"\r\n")
            end = _END.search(head, self._searched)
            at = len(head) if end is None else end.end()
            if end is None or exchange.received - (len(head) - at) > LONGEST_HEAD:
                check_first_line(head)
                if exchange.received > LONGEST_HEAD:
                    raise Malformed(f"its head is over {LONGEST_HEAD} bytes")
                self._head, self._searched = head, max(at - 2, 0)
                return b""
            self._read_head(exchange, head[:at])
            head, self._searched = head[at:], 0
        return b"" if self._is_refused else head

    def _read_head(self, exchange: Exchange, head: bytes) -> None:
        """Parses a head. If the parser rejects the head, uses only its status, reason and Retry-After."""
        try:
            self._parser.feed_data(head)
        except HttpParserCallbackError:
            raise
        except (HttpParserError, HttpParserUpgrade):
            if exchange.status:
                raise
            status, exchange.reason, exchange.retry_after = read_malformed(head)
            if status >= 200:
                exchange.status, exchange.told, exchange.complete, self._is_refused = status, None, True, True

    def _finish(self, exchange: Exchange) -> None:
        all_sent = len(exchange.request) <= _SMALL_REQUEST or not self._transport.get_write_buffer_size()
        if self._keep and all_sent:
            self.exchange, self._used = None, True
            exchange.end()
            self._owner.release(self)
        else:
            self.discard()


def _malformed(error: Exception) -> Malformed:
    if isinstance(error, HttpParserUpgrade):
        return Malformed("it switches to another protocol")
    cause = error.__context__ if isinstance(error, HttpParserCallbackError) else error
    return cause if isinstance(cause, Malformed) else Malformed(str(error))
