"""Rows in hand leave only under their tokens, and claim times are kept for the newest tokens only."""

from pgsched.domain.execution import ClaimedExecution
from pgsched.worker.in_hand import InHand


def row(id: bytes, token: int, client: str = "shop") -> ClaimedExecution:
    return ClaimedExecution(0, id, token, 1, 0, 0, client, "python:do", None, None, None, None, None, None)


def test_rows_in_hand_are_removed_only_under_their_lease_tokens() -> None:
    in_hand = InHand()
    eased, left = list[int](), list[list[bytes]]()
    in_hand.eased.connect(lambda: eased.append(1))
    in_hand.left.connect(lambda ids: left.append([*ids]))
    in_hand.take([row(b"a", 1), row(b"b", 1, "bank"), row(b"c", 1)])
    in_hand.take([row(b"c", 2)])  # claimed again: outcomes sent under the former token do not count
    in_hand.announced = {b"b", b"c"}
    assert in_hand.leave([b"a", b"b"], [1, 1]) == ["shop", "bank"]
    assert in_hand.leave([b"a", b"c"], [1, 1]) == []
    assert in_hand.rows.keys() == {b"c"}
    assert in_hand.leave([b"c", b"x", b"c"], [1, 7, 2]) == ["shop"]
    assert not in_hand.rows
    assert (left, in_hand.announced, len(eased)) == ([[b"b"], [b"c"]], set(), 3)


def test_claim_times_are_kept_for_the_newest_ten_thousand_tokens() -> None:
    in_hand = InHand()
    in_hand.take([row(b"a", 1), row(b"b", 2)])
    assert in_hand.claimed_at.keys() == {1, 2}
    in_hand.take([row(number.to_bytes(4, "big"), number) for number in range(2, 12_000)])
    assert len(in_hand.claimed_at) == 10_000
    assert 11_999 in in_hand.claimed_at
