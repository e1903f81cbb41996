"""What is remembered up to a total size."""

from pgsched.domain.bounded_cache import Memo


def test_what_was_put_is_known() -> None:
    memo = Memo[str](10)
    assert memo.put("a", "A", 3) == "A"
    assert memo.get("a") == "A"
    assert memo.get("b") is None


def test_what_was_used_longest_ago_is_forgotten_first() -> None:
    memo = Memo[str](10)
    memo.put("a", "A", 5)
    memo.put("b", "B", 5)
    memo.get("a")
    memo.put("c", "C", 5)
    assert [memo.get(key) for key in "abc"] == ["A", None, "C"]


def test_what_is_put_again_weighs_once() -> None:
    memo = Memo[str](10)
    for _ in range(5):
        memo.put("a", "A", 4)
    assert memo.weight == 4


def test_what_is_too_large_is_not_kept() -> None:
    memo = Memo[str](10)
    memo.put("a", "A", 4)
    assert memo.put("b", "B", 11) == "B"
    assert (memo.get("a"), memo.get("b"), memo.weight) == (None, None, 0)
