"""The partitions of queues. Each queue has sixteen consecutive partitions. A queue is identified by its number or by
its first partition.
"""

from collections.abc import Iterable

PARTITIONS_PER_QUEUE = 16
PARTITION_BITS = 15
"""Number of bits for a partition's number in lease tokens and execution ids."""


def queue_of(partition: int) -> int:
    """Returns the number of the queue that a partition belongs to."""
    return partition // PARTITIONS_PER_QUEUE


def first_of(partition: int) -> int:
    """Returns the first partition of the queue that a partition belongs to."""
    return partition - partition % PARTITIONS_PER_QUEUE


def partitions_of(first: int) -> range:
    """Returns all partitions of the queue whose first partition is ``first``."""
    return range(first, first + PARTITIONS_PER_QUEUE)


def partitions_from(queues: Iterable[int]) -> list[int]:
    """Returns all partitions of the queues with these first partitions."""
    return [partition for first in queues for partition in partitions_of(first)]
