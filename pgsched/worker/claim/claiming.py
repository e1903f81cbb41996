"""The base of services that claim rows and hand them to the dispatcher."""

from pgsched.service import Service
from pgsched.store.core.connect import Link
from pgsched.worker.claim.leases import Leases
from pgsched.worker.run.dispatcher import Dispatcher


class Claiming(Service):
    """Claims on the connection of ``leases``; ``links`` are further connections that the turns use."""

    def __init__(self, leases: Leases, dispatcher: Dispatcher, *links: Link) -> None:
        super().__init__(leases.events, leases.link, *links)
        self.leases, self._link, self._dispatcher = leases, leases.link, dispatcher
        self._roster, self._clock = leases.roster, leases.clock
