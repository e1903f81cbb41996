"""Methods for limits, sidelined targets and blocked ordering keys, shared by both clients."""

from pgsched.api_responses import Page
from pgsched.client.requests import Call, Id, Instant, Length, body, path, present
from pgsched.client.sync_async_methods import method, pages
from pgsched.store.gates.blocked_keys import BlockedKey
from pgsched.store.gates.limits import LimitRow
from pgsched.store.gates.sidelined_targets import Sidelined


class GateMethods:
    """Methods for limits, targets and ordering keys, shared by both clients."""

    @method
    def list_limits(
        self, *, kind: str | None = None, limit: int = 50, after: str | None = None
    ) -> Call[Page[LimitRow]]:
        """One page of limits, sorted by kind and name."""
        return Call("GET", path("limits"), Page[LimitRow], query={"kind": kind, "limit": limit, "after": after})

    iter_limits = pages(list_limits)

    @method
    def get_limit(self, kind: str, name: str) -> Call[LimitRow]:
        """The limit of a client, host, queue or key."""
        return Call("GET", path("limits", kind, name), LimitRow)

    @method
    def set_limit(
        self,
        kind: str,
        name: str,
        *,
        rate: int | None = None,
        per: Length = "PT1S",
        burst: int | None = None,
        concurrency: int | None = None,
    ) -> Call[LimitRow]:
        """Sets a limit. At most ``rate`` executions start in each ``per``; after a quiet period, up to ``burst`` start
        at once. At most ``concurrency`` executions run at the same time."""
        asked = body(present({"rate": rate, "per": per, "burst": burst, "concurrency": concurrency}))
        return Call("PUT", path("limits", kind, name), LimitRow, body=asked)

    @method
    def drop_limit(self, kind: str, name: str) -> Call[bool]:
        """Removes a limit, and releases the executions that it held. Returns False if there was no such limit."""
        return Call("DELETE", path("limits", kind, name), bool, "changed")

    @method
    def list_sidelined(
        self, *, client: str | None = None, limit: int = 50, after: str | None = None
    ) -> Call[Page[Sidelined]]:
        """One page of the sidelined target hosts."""
        asked = {"client": client, "limit": limit, "after": after}
        return Call("GET", path("targets", "sidelined"), Page[Sidelined], query=asked)

    iter_sidelined = pages(list_sidelined)

    @method
    def sideline(
        self, host: str, *, client: str | None = None, until: Instant | None = None, note: str | None = None
    ) -> Call[bool]:
        """Stops calls to a host, for one client or for all. Calls resume at the instant ``until`` or, if that is
        omitted, when the host is restored."""
        asked = present({"host": host, "client": client, "until": until, "note": note})
        return Call("POST", path("targets", "pause"), bool, "changed", body=asked)

    @method
    def restore(self, host: str, *, client: str | None = None) -> Call[bool]:
        """Restores a sidelined host. Calls resume, at a few executions per second at first."""
        return Call("POST", path("targets", "resume"), bool, "changed", body=present({"host": host, "client": client}))

    @method
    def list_blocked(
        self, *, client: str | None = None, limit: int = 50, after: Id | None = None
    ) -> Call[Page[BlockedKey]]:
        """One page of the blocked ordering keys, newest first."""
        asked = {"client": client, "limit": limit, "after": after}
        return Call("GET", path("ordering-keys", "blocked"), Page[BlockedKey], query=asked)

    iter_blocked = pages(list_blocked)

    @method
    def unblock(self, client: str, ordering_key: str) -> Call[bool]:
        """Unblocks an ordering key: its other executions continue without the failed execution. Returns False if it was
        not blocked."""
        asked = {"client": client, "ordering_key": ordering_key}
        return Call("POST", path("ordering-keys", "resume"), bool, "changed", body=asked)
