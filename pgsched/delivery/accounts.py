"""Charges clients for the time that their handlers keep the process from everybody else.

There is one event loop and one interpreter lock. Hundreds of handlers that keep one of them for longer than a moment,
one after the other, keep everything else waiting: claims, settles and the rows of other clients. So where several
clients share a process, each account is charged with that time, and a part is forgiven each second. An account that
owes too much is held: no attempt of its client begins, and attempts that have begun go on one step at a time, as fast
as debts are forgiven (``steps``). While no other client has executions in the process, all debts are forgiven at once.

Time that the machine takes away is charged to nobody: a step counts for no more than a thread beside the loop has felt
of it.
"""

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from pgsched.domain.execution import Execution

PERIOD = 0.02
"""Seconds between two looks of the thread."""
FORGIVEN = 0.2
"""The part of each second that clients which would take more have together."""
LIMIT, LONGEST = 0.1, 5.0
OVERDUE = 0.1
"""Seconds without a beat of the loop from which on every step counts, however short."""
BRIEF, _LONG = 0.001, 0.01
"""Steps between these lengths count only for clients that owe something, while the loop is not late."""
_FREED = 0.02
_AMONG_THREADS = 0.1
"""Seconds that a step may wait for the interpreter's lock while threads compute; it is not charged for them."""
_REMEMBERED = 10.0
"""Seconds for which a process counts as shared after another client had executions in it."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Account:
    """The account of one client. While it is ``held`` its steps wait in ``queue``; the one with ``turn`` may go on."""

    accounts: "Accounts"
    client: str
    target: str = ""
    owed: float = 0.0
    charged_at: float = 0.0
    held: bool = False
    queue: deque[asyncio.Future[None]] = field(default_factory=deque)
    turn: asyncio.Future[None] | None = None
    opening: asyncio.Handle | None = None


class Accounts:
    """The accounts of all clients. ``hold_back`` is called with the clients that are held whenever they change, also in
    another thread. ``wanted`` says whether several clients share the process, ``contended`` whether threads compute;
    ``felt`` is the clock of a thread, which stops while the machine does. ``beat`` is called in the loop again and
    again."""

    def __init__(self, hold_back: Callable[[frozenset[str]], None] = lambda over: None) -> None:
        self.hold_back = hold_back
        self.wanted, self.contended, self.is_open = True, False, False
        self.over: frozenset[str] = frozenset()
        self.felt = self.used = 0.0
        self.turned_at = float("inf")
        self._others_at = float("-inf")
        # An account lives as long as steps of its client's handlers or a debt refer to it, and those asked for lately a
        # few seconds longer, so that quick handlers find it.
        self._accounts = WeakValueDictionary[str, Account]()
        self._lately: dict[str, Account] = {}
        self._forgotten_at = float("-inf")
        self._owing: dict[str, Account] = {}
        self._lock = threading.Lock()

    def of(self, client: str) -> Account:
        """The account of a client. Callable in any thread."""
        account = self._lately.get(client)
        if account is None:
            with self._lock:
                account = self._lately[client] = self._accounts.setdefault(client, Account(self, client))
        return account

    def count(self, account: Account, ended: float, passed: float, felt: float) -> None:
        """Charges a step of a handler that took long, or that ended while the loop was late. ``felt`` is the value of
        ``self.felt`` when it began. To be called in the loop's thread."""
        if not self.wanted or (passed < _LONG and ended - self.turned_at < OVERDUE and not account.owed):
            return
        if self.contended:
            passed -= _AMONG_THREADS
        if passed > 0:
            since = max(PERIOD, time.thread_time() - self.used)
            self.charge(account, min(passed, self.felt - felt + since))

    def feel(self, seconds: float, used: float) -> None:
        """Advances ``felt``, after so many seconds. ``used`` is the processor time of the loop's thread."""
        self.felt += min(seconds, 1.5 * PERIOD)
        self.used = used

    def charge(self, account: Account, seconds: float) -> None:
        """Charges an account. Callable in any thread."""
        with self._lock:
            account.owed, account.charged_at = min(account.owed + seconds, LONGEST), time.monotonic()
            self._owing[account.client] = account
            if account.owed > LIMIT and not account.held and not self.is_open:
                account.held = True
                self._tell()

    def forgive(self, seconds: float) -> None:
        """Forgives debts after so many seconds. Callable in any thread."""
        if not self._owing:
            return
        with self._lock:
            now, each = time.monotonic(), FORGIVEN * seconds / max(len(self.over), 1)
            if not self.wanted or now - self._others_at > _REMEMBERED:
                each = LONGEST
            for account in list(self._owing.values()):
                account.owed = max(account.owed - each, 0.0)
                if account.owed <= _FREED:
                    account.held = False
                if not account.owed and now - account.charged_at > _REMEMBERED:
                    del self._owing[account.client]
            self._tell()

    def beat(self, now: float, *, wanted: bool, in_hand: Iterable[Execution]) -> None:
        """Notes that the loop turns, with these rows in hand."""
        self.turned_at, self.wanted = now, wanted
        if now - self._forgotten_at > _REMEMBERED:
            self._forgotten_at = now
            self._lately.clear()
        if self._owing and self._are_several(in_hand):
            self._others_at = now

    def _are_several(self, rows: Iterable[Execution]) -> bool:
        clients = set(self._owing.copy())
        return len(clients) > 1 or any(row.client_id not in clients for row in rows)

    def paces(self, client: str) -> bool:
        """Whether steps of this client wait for their turn."""
        account = self._accounts.get(client)
        return account is not None and bool(account.queue)

    def open(self) -> None:
        """Holds nobody any more, because the process is about to end."""
        self.is_open = True
        with self._lock:
            for account in self._accounts.values():
                account.held = False
            self._tell()

    def queue(self, account: Account) -> asyncio.Future[None]:
        """Returns a future to wait for, until it is this caller's turn."""
        turn = asyncio.get_running_loop().create_future()
        account.queue.append(turn)
        self.let_next(account)
        return turn

    def let_next(self, account: Account) -> None:
        """Lets the next in the queue go on, once enough is forgiven."""
        if account.queue and account.opening is None:
            wait = (account.owed - LIMIT) / FORGIVEN * max(len(self.over), 1) if account.held else 0.0
            loop = asyncio.get_running_loop()
            soon = min(max(wait, 0.0), OVERDUE)  # more may be forgiven meanwhile; this is no handler's call
            account.opening = loop.call_later(soon, self._open, account, context=contextvars.Context())

    def _open(self, account: Account) -> None:
        account.opening = None
        if account.held and account.owed > LIMIT:
            self.let_next(account)
            return
        while account.queue:
            turn = account.queue.popleft()
            if not turn.done():
                account.turn = turn
                turn.set_result(None)
                break
        self.let_next(account)

    def _tell(self) -> None:
        over = frozenset(client for client, account in self._owing.items() if account.held)
        if over != self.over:
            self.over = over
            self.hold_back(over)
