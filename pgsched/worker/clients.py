"""What the worker's parts ask of clients and queues; ``upkeep.directory`` has the answers."""

from typing import Protocol


class Clients(Protocol):
    """Answers from memory."""

    @property
    def are_several(self) -> bool:
        """Whether more than one client has anything to do."""

    def weight(self, client_id: str, /) -> int: ...

    def queue_weight(self, queue: int, /) -> int: ...

    def keeps_success(self, client_id: str, /) -> bool: ...
