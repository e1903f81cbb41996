"""Decides what becomes of an instant of a job while an earlier run of the job goes on."""

from enum import Enum, auto

from pgsched.domain.rules import OnOverlap, Rules


class OverlapDecision(Enum):
    """``RUN`` beside the earlier run; ``WAIT`` for its end; ``SKIP`` this instant; or ``CANCEL`` the earlier run."""

    RUN = auto()
    WAIT = auto()
    SKIP = auto()
    CANCEL = auto()


def decide_overlap(rules: Rules) -> OverlapDecision:
    """With ``after_completion`` an instant counts from the end of the run before it, and so never passes that."""
    if rules.on_overlap is OnOverlap.ALLOW:
        return OverlapDecision.RUN
    if rules.after_completion:
        return OverlapDecision.WAIT
    match rules.on_overlap:
        case OnOverlap.SKIP:
            return OverlapDecision.SKIP
        case OnOverlap.CANCEL_RUNNING:
            return OverlapDecision.CANCEL
        case OnOverlap.QUEUE_ONE | OnOverlap.QUEUE_ALL:
            return OverlapDecision.WAIT
