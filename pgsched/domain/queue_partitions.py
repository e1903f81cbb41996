"""The partitions of a queue: sixteen in a row. A queue is identified by its number or its first partition."""

from collections.abc import Iterable

PARTITIONS_PER_QUEUE = 16
PARTITION_BITS = 15
"""The bits of a partition's number; lease tokens and execution ids carry it in this many bits."""


def queue_of(partition: int) -> int:
    """Returns the number of the partition's queue."""
    return partition // PARTITIONS_PER_QUEUE


def first_of(partition: int) -> int:
    """Returns the first partition of the partition's queue."""
    return partition - partition % PARTITIONS_PER_QUEUE


def partitions_of(first: int) -> range:
    """Returns all partitions of the queue with this first one."""
    return range(first, first + PARTITIONS_PER_QUEUE)


def partitions_from(queues: Iterable[int]) -> list[int]:
    """Returns all partitions of the queues with these first ones."""
    return [partition for first in queues for partition in partitions_of(first)]
