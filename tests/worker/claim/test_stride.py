"""Batches that release the next executions of many ordering keys are settled in parts."""

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.settle.batch import Batch


def succeeded(batch: Batch, number: int, ordering_key: str | None, client: str = "a") -> None:
    batch.succeed(
        ClaimedExecution(
            partition=number % 16, id=f"{number:016}".encode(), token=1, attempt=1, fire_at=0, scheduled_for=0,
            client_id=client, target="python:x", payload=None, options=None, job_id=None, plan=None, key=None,
            ordering_key=ordering_key,
        ),
        None,
    )  # fmt: skip


def test_a_batch_with_many_ordering_keys_is_settled_in_parts() -> None:
    batch = Batch()
    for number in range(300):
        succeeded(batch, number, f"k{number}" if number % 2 else None)
    first, rest = batch.in_two(64)
    assert (first.count, len(first.keys)) == (150 + 64, 64)
    assert (rest.count, len(rest.keys)) == (86, 86)
    assert sorted(first.rows() + rest.rows()) == sorted(batch.rows())


def test_clients_with_few_ordering_keys_are_settled_first() -> None:
    batch = Batch()
    for number in range(300):
        succeeded(batch, number, f"k{number}", client="b" if number in {150, 299} else "a")
    first, _ = batch.in_two(64)
    assert [client for _, client, _ in first.keys.values()].count("b") == 2


def test_a_batch_with_few_ordering_keys_is_settled_as_a_whole() -> None:
    batch = Batch()
    for number in range(64):
        succeeded(batch, number, "k")
    assert batch.in_two(64)[0] is batch
