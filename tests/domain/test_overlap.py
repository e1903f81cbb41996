import pytest

from pgsched.domain.misfire_and_overlap import OverlapDecision, decide_overlap
from pgsched.domain.recurrence_rules import OnOverlap, Rules


@pytest.mark.parametrize(
    ("rule", "decided"),
    [
        (OnOverlap.ALLOW, OverlapDecision.RUN),
        (OnOverlap.SKIP, OverlapDecision.SKIP),
        (OnOverlap.QUEUE_ONE, OverlapDecision.WAIT),
        (OnOverlap.QUEUE_ALL, OverlapDecision.WAIT),
        (OnOverlap.CANCEL_RUNNING, OverlapDecision.CANCEL),
    ],
)
def test_the_overlap_rule_decides_what_happens_to_an_overlapping_instant(
    rule: OnOverlap, decided: OverlapDecision
) -> None:
    assert decide_overlap(Rules(on_overlap=rule)) is decided


@pytest.mark.parametrize("rule", [rule for rule in OnOverlap if rule is not OnOverlap.ALLOW])
def test_an_after_completion_job_waits_under_every_overlap_rule(rule: OnOverlap) -> None:
    assert decide_overlap(Rules(on_overlap=rule, after_completion=True)) is OverlapDecision.WAIT
