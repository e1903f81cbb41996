"""What the handlers of each client owe the others in their process for the time that they kept it.

There is one event loop and one interpreter lock. Handlers that keep one of them longer than a moment, hundreds of them
one after the other, keep everything else waiting: claims, settles and the rows of others. So where several clients
share a process each account is charged with that time, a part is forgiven each second, and an account that owes too
much is held: nothing of its client begins, and what has begun goes on one step at a time, as fast as is forgiven
(``steps``). While nobody else has anything in the process all is forgiven at once.

What the machine takes away is nobody's doing: a step counts for no more than a thread beside the loop has felt of it.
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
"""Of each second: so much of its time those have together who would take more."""
LIMIT, LONGEST = 0.1, 5.0
OVERDUE = 0.1
"""Seconds without a beat of the loop from which on every step counts, however short."""
BRIEF, _LONG = 0.001, 0.01
"""Of steps between these only those of whoever owes something count, while the loop turns as it should."""
_FREED = 0.02
_AMONG_THREADS = 0.1
"""So long a step may wait for the interpreter's lock where threads compute; that is not its own doing."""
_REMEMBERED = 10.0
"""For so many seconds after anybody else had something in the process it counts as shared."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Account:
    """One client's. ``held``: its steps take turns in ``queue``, and ``turn`` is the one that may go on."""

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
    """Those of all clients. ``hold_back`` is told who is held whenever that changes, also in another thread. ``wanted``
    says whether several clients share the process; ``felt`` is a clock of a thread that stops while the machine
    does, ``contended`` whether threads compute. ``beat`` is called in the loop, again and again."""

    def __init__(self, hold_back: Callable[[frozenset[str]], None] = lambda over: None) -> None:
        self.hold_back = hold_back
        self.wanted, self.contended, self.is_open = True, False, False
        self.over: frozenset[str] = frozenset()
        self.felt = self.used = 0.0
        self.turned_at = float("inf")
        self._others_at = float("-inf")
        # An account is kept by the steps of its client's handlers, and by what it owes; nobody else needs it.
        self._accounts = WeakValueDictionary[str, Account]()
        self._owing: dict[str, Account] = {}
        self._lock = threading.Lock()

    def of(self, client: str) -> Account:
        """The account of a client. Callable in any thread."""
        account = self._accounts.get(client)
        if account is None:
            with self._lock:
                account = self._accounts.setdefault(client, Account(self, client))
        return account

    def count(self, account: Account, ended: float, passed: float, felt: float) -> None:
        """A step of a handler has ended that took so long, or while the loop is late. ``felt`` was then when it began.
        To be called in the loop's thread."""
        if not self.wanted or (passed < _LONG and ended - self.turned_at < OVERDUE and not account.owed):
            return
        if self.contended:
            passed -= _AMONG_THREADS
        if passed > 0:
            since = max(PERIOD, time.thread_time() - self.used)
            self.charge(account, min(passed, self.felt - felt + since))

    def feel(self, seconds: float, used: float) -> None:
        """For the thread beside the loop: it has looked again after so long. ``used``: of processors by the loop's."""
        self.felt += min(seconds, 1.5 * PERIOD)
        self.used = used

    def charge(self, account: Account, seconds: float) -> None:
        """Callable in any thread."""
        with self._lock:
            account.owed, account.charged_at = min(account.owed + seconds, LONGEST), time.monotonic()
            self._owing[account.client] = account
            if account.owed > LIMIT and not account.held and not self.is_open:
                account.held = True
                self._tell()

    def forgive(self, seconds: float) -> None:
        """So much time has passed. Callable in any thread."""
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
        """The loop turns, with these in hand."""
        self.turned_at, self.wanted = now, wanted
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
        """Nobody is held any more: the process comes to its end."""
        self.is_open = True
        with self._lock:
            for account in self._accounts.values():
                account.held = False
            self._tell()

    def queue(self, account: Account) -> asyncio.Future[None]:
        """A turn to wait for."""
        turn = asyncio.get_running_loop().create_future()
        account.queue.append(turn)
        self.let_next(account)
        return turn

    def let_next(self, account: Account) -> None:
        """Gives the next its turn in one of the loop's next turns, once enough is forgiven."""
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
