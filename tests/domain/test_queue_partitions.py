"""Which partitions belong to which queue."""

import pytest

from pgsched.domain.queue_partitions import first_of, partitions_from, partitions_of, queue_of


@pytest.mark.parametrize(("partition", "queue", "first"), [(0, 0, 0), (15, 0, 0), (16, 1, 16), (47, 2, 32)])
def test_a_partition_belongs_to_one_queue(partition: int, queue: int, first: int) -> None:
    assert (queue_of(partition), first_of(partition)) == (queue, first)


def test_a_queue_has_sixteen_consecutive_partitions() -> None:
    assert [*partitions_of(16)] == partitions_from([16]) == [*range(16, 32)]
    assert {first_of(partition) for partition in partitions_of(16)} == {16}
