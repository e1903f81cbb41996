"""What all parts of a worker build on: its connections, and what it knows of the database."""

import contextlib
import secrets
from datetime import timedelta
from typing import Any

import psycopg

from pgsched.delivery.python import App
from pgsched.errors import InvalidSettings
from pgsched.event_emitter import Events
from pgsched.sealing import KeyRing
from pgsched.settings import Settings
from pgsched.store.core.connect import Link, signed
from pgsched.store.core.lineage import Lineage
from pgsched.store.jobs.definition_cache import Definitions
from pgsched.worker.circuits import Circuits
from pgsched.worker.clock import DatabaseClock
from pgsched.worker.in_hand import InHand
from pgsched.worker.known_gates import KnownGates
from pgsched.worker.known_settings import KnownSettings
from pgsched.worker.vault import Vault


class CommonParts:
    """``instance`` is the name that the worker's sessions carry, and ``url`` connects under it. Raises
    InvalidSettings."""

    def __init__(self, settings: Settings, *, app: App | None, events: Events | None) -> None:
        if settings.database_url is None:
            raise InvalidSettings("no database is named: set database_url, or PGSCHED_DATABASE_URL")
        self.settings, self.app, self.events = settings, app or App(), events or Events()
        self.instance = secrets.token_hex(8)
        self.url = signed(settings.database_url, self.instance)
        self.lease = timedelta(seconds=settings.lease)
        self.lineage, self.links = Lineage(), list[Link]()
        # Rare single statements share one connection. Renewals have their own, so that they never wait behind one of
        # these.
        self.chores, self.renewing = self.link("upkeep"), self.link("renew")
        self.clock, self.in_hand, self.definitions = DatabaseClock(), InHand(), Definitions()
        self.vault = Vault(self.link("secrets", raw=False, seldom=True), KeyRing.parse(settings.secret_keys))
        self.known_settings = KnownSettings(self.chores, self.events, self.vault.open_signing)
        self.known_gates = KnownGates()
        self.circuits = Circuits(
            self.chores,
            self.events,
            self.known_gates,
            after=settings.sideline_after,
            rate=settings.recovery_rate,
        )

    def link(self, role: str, **how: Any) -> Link:
        """A connection of the worker. All are in ``links`` but that which listens: it answers nobody else meanwhile."""
        made = Link(self.url, role, lineage=self.lineage, **how)
        if role != "listen":
            self.links.append(made)
        return made

    async def close(self) -> None:
        """After all that uses these connections has been closed."""
        for link in (self.renewing, self.chores):
            with contextlib.suppress(psycopg.Error, OSError):
                await link.drop()
        await self.vault.close()
