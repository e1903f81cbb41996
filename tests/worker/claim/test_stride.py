"""Claims of rows that have to be admitted are kept short, and so are the settles that let the next have its turn."""

import math

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.claim.claim_order import Stream
from pgsched.worker.settle.batch import Batch


def test_a_claim_that_took_long_is_followed_by_one_of_half_as_many() -> None:
    stream = Stream()
    assert min(4000, stream.most) == 4000
    stream.took(0.2, 1000, of=1000)
    assert min(4000, stream.most) == 500
    stream.took(0.2, 500, of=500)
    assert min(4000, stream.most) == 250


def test_it_is_never_too_few_to_get_on_with() -> None:
    stream = Stream()
    for _ in range(20):
        stream.took(5.0, 1000, of=1000)
    assert min(4000, stream.most) == 64


def test_quick_claims_lift_the_bound_again() -> None:
    stream = Stream()
    stream.took(0.2, 200, of=200)
    for _ in range(12):
        stream.took(0.001, 400, of=400)
    assert stream.most == math.inf


def test_a_quick_claim_of_a_few_lifts_no_bound() -> None:
    stream = Stream()
    stream.took(0.2, 400, of=400)
    stream.took(0.001, 50, of=50)
    assert stream.most == 200


def test_claims_in_which_nothing_has_to_be_admitted_may_take_as_long_as_they_do() -> None:
    stream = Stream()
    stream.took(5.0, 0, of=1000)
    assert min(4000, stream.most) == 4000


def test_a_few_that_have_to_be_admitted_do_not_cut_claims_of_many_others() -> None:
    stream = Stream()
    stream.took(0.2, 10, of=1000)
    assert min(4000, stream.most) == 4000


def test_a_claim_that_lost_the_rows_it_admitted_counts_as_theirs_in_full() -> None:
    stream = Stream()
    stream.took(5.0, 200, of=0)
    assert stream.most == 100


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


def test_whose_keys_are_few_is_settled_before_the_rest_of_whose_are_many() -> None:
    batch = Batch()
    for number in range(300):
        succeeded(batch, number, f"k{number}", client="b" if number in {150, 299} else "a")
    first, _ = batch.in_two(64)
    assert [client for _, client, _ in first.keys.values()].count("b") == 2


def test_a_batch_with_few_is_settled_as_it_is() -> None:
    batch = Batch()
    for number in range(64):
        succeeded(batch, number, "k")
    assert batch.in_two(64)[0] is batch
