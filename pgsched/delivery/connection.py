"""One connection, and on it one exchange at a time.

Its states: new (connected, nothing sent yet: its slot is still that of the exchange that opened it), open (it holds
a slot of its host: busy with an exchange, or parked), dead. The parser (llhttp) is the authority on where an answer
ends; what comes after that end, or while nobody waits, ends the connection, so that it can never answer the next
request.

What happens on each failure:

- the peer closes a used connection before it has said anything: it had done so before the request reached it, or it did
  not take the request. The exchange is sent once more, on a fresh connection; a second time it has failed.
- the peer closes before the head of the answer is complete, or says what has no status: the exchange has failed.
- the parser refuses the head: its first line decides (``malformed_head``), and the connection is not used again.
- anything after the head is complete: its status decides, and the connection is not used again.
- the exchange is cancelled or expires: the connection is aborted, with whatever is unread on it.
"""

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING, cast

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpResponseParser

from pgsched.delivery.error_body import LENGTHS, TOLD
from pgsched.delivery.exchange import Dropped, Exchange, Malformed
from pgsched.delivery.malformed_head import LONGEST_HEAD, MalformedHead
from pgsched.domain.attempt_outcome import LONGEST_ERROR

if TYPE_CHECKING:
    from pgsched.delivery.pool import OriginSlots

LONGEST_BODY = 65_536
"""Bytes of an answer's body that are read at most."""
MOST_HEADERS = 256
"""Header lines an answer may have."""

_LONGEST_ANSWER = LONGEST_HEAD + 2 * LONGEST_BODY  # on the wire, where chunks have heads of their own
_KEPT = 4 * LONGEST_ERROR  # four bytes are the most a character takes
_MOST_PIECES = 4_096  # in which what follows the head may come
_BODY_SECONDS = 1.0
_LAST_MOMENT = 0.1  # before the caller gives up, so that a status that has come still gets to it
_SMALL_REQUEST = 65_536


class ConnectionState(Enum):
    """How far a connection is."""

    NEW = auto()
    OPEN = auto()
    DEAD = auto()


class Connection(asyncio.Protocol):
    """Sends requests and parses answers. ``owner`` has the slots of its origin; after the moment ``retires`` it starts
    no further exchange."""

    __slots__ = (
        "_heard",
        "_keep",
        "_line",
        "_loop",
        "_malformed_head",
        "_owner",
        "_parser",
        "_pieces",
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
        self._heard: Exchange  # the exchange of the data that is being parsed
        self._transport: asyncio.Transport
        self._state = ConnectionState.NEW
        self._used = self._keep = False
        self._malformed_head: MalformedHead | None = None
        self._line = bytearray()  # what has come of a line of the head, each piece of which would cost as much as all
        self._pieces = 0
        self._parser = HttpResponseParser(self)
        # What a target did counts, also where its lines end or its header values look a little odd.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    def start(self, exchange: Exchange) -> None:
        """Sends the request. The answer ends the exchange."""
        if self._state is ConnectionState.DEAD:
            exchange.end(Dropped(0, None))
            self._owner.vacate()
            return
        if self._state is ConnectionState.NEW:
            self._state = ConnectionState.OPEN
            self._owner.opened(self)
        self._keep, self._pieces = False, 0
        self.exchange = self._heard = exchange
        exchange.connection = self
        self._transport.write(exchange.request)

    def discard(self, error: Exception | None = None, *, politely: bool = False) -> None:
        """Ends the connection, and its exchange with the error if no status has come. ``politely`` closes TLS
        properly."""
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
        if exchange.received and not exchange.status:
            self._line += data
            exchange.received += len(data)
            if b"\n" not in data and exchange.received <= LONGEST_HEAD:
                return
            data = bytes(self._line)
            self._line.clear()
        else:
            exchange.received += len(data)
        try:
            if self._malformed_head is not None:
                self._read_malformed(self._malformed_head, exchange, data)
            elif exchange.received > LONGEST_HEAD and not exchange.status:
                self._feed_head(exchange, data)
            else:
                self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade, Malformed) as error:
            if not self._read_anyway(exchange, data, error):
                return
        if exchange.complete:
            self._finish(exchange)
        elif not exchange.status:
            if self._malformed_head is None:
                exchange.head = exchange.head or bytearray()
                exchange.head += data
        else:
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
            raise Malformed("it is followed by more than one answer")

    def on_status(self, reason: bytes) -> None:
        self._heard.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        exchange = self._heard
        exchange.headers += 1
        if exchange.headers > MOST_HEADERS:
            raise Malformed(f"it has more than {MOST_HEADERS} headers")
        # What comes behind the body is no header any more.
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
            raise Malformed(f"its status {status} was not asked for")
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
        else:  # an interim answer, such as 103; the real one follows
            exchange.reason, exchange.retry_after, exchange.told = b"", None, None

    def _feed_head(self, exchange: Exchange, data: bytes) -> None:
        """Feeds the parser, and refuses a head that is too long."""
        room = LONGEST_HEAD - (exchange.received - len(data))
        self._parser.feed_data(data[:room])
        if not exchange.status:
            raise Malformed(f"its head is over {LONGEST_HEAD} bytes")
        self._parser.feed_data(data[room:])

    def _read_anyway(self, exchange: Exchange, data: bytes, error: Exception) -> bool:
        """Goes on with a head that the parser has refused; False where that ended the connection."""
        is_final = isinstance(error, (HttpParserCallbackError, Malformed))
        if exchange.status or self._malformed_head is not None or is_final:
            self.discard(_malformed(error))
            return False
        self._malformed_head = MalformedHead()
        try:
            self._read_malformed(self._malformed_head, exchange, bytes(exchange.head or b"") + data)
        except Malformed as final:
            self.discard(final)
            return False
        return True

    def _read_malformed(self, malformed: MalformedHead, exchange: Exchange, data: bytes) -> None:
        head = malformed.feed(data)
        if head is not None:
            exchange.status, exchange.reason, exchange.retry_after = head
            exchange.told, exchange.complete = None, True

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
        return Malformed("it changes to another protocol")
    cause = error.__context__ if isinstance(error, HttpParserCallbackError) else error
    return cause if isinstance(cause, Malformed) else Malformed(str(error))
