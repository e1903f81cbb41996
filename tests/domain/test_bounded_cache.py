"""A cache with a limit on its total weight."""

from pgsched.domain.bounded_cache import Memo


def test_get_returns_the_stored_value_or_none() -> None:
    memo = Memo[str](10)
    assert memo.put("a", "A", 3) == "A"
    assert memo.get("a") == "A"
    assert memo.get("b") is None


def test_the_least_recently_used_entry_is_evicted_first() -> None:
    memo = Memo[str](10)
    memo.put("a", "A", 5)
    memo.put("b", "B", 5)
    memo.get("a")
    memo.put("c", "C", 5)
    assert [memo.get(key) for key in "abc"] == ["A", None, "C"]


def test_replacing_an_entry_counts_its_weight_once() -> None:
    memo = Memo[str](10)
    for _ in range(5):
        memo.put("a", "A", 4)
    assert memo.weight == 4


def test_an_oversized_entry_is_not_kept() -> None:
    memo = Memo[str](10)
    memo.put("a", "A", 4)
    assert memo.put("b", "B", 11) == "B"
    assert (memo.get("a"), memo.get("b"), memo.weight) == (None, None, 0)
