"""The partitions of a queue: sixteen in a row. A queue is known by its number, or by its first partition."""

from collections.abc import Iterable

PARTITIONS_PER_QUEUE = 16
PARTITION_BITS = 15
"""The bits of a partition's number; the tokens of leases and the ids of executions carry it in so many."""


def queue_of(partition: int) -> int:
    """The number of the partition's queue."""
    return partition // PARTITIONS_PER_QUEUE


def first_of(partition: int) -> int:
    """The first partition of the partition's queue."""
    return partition - partition % PARTITIONS_PER_QUEUE


def partitions_of(first: int) -> range:
    """All partitions of the queue with this first one."""
    return range(first, first + PARTITIONS_PER_QUEUE)


def partitions_from(queues: Iterable[int]) -> list[int]:
    """All partitions of the queues with these first ones."""
    return [partition for first in queues for partition in partitions_of(first)]
