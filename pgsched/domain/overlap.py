"""Decides what becomes of an instant of a job while an earlier run of the job goes on."""

from enum import Enum, auto

from pgsched.domain.rules import OnOverlap, Rules


class Overlap(Enum):
    """``RUN`` beside the earlier run; ``WAIT`` for its end; ``SKIP`` this instant; or ``CANCEL`` the earlier run."""

    RUN = auto()
    WAIT = auto()
    SKIP = auto()
    CANCEL = auto()


def decide_overlap(rules: Rules) -> Overlap:
    """With ``after_completion`` an instant counts from the end of the run before it, and so never passes that."""
    if rules.on_overlap is OnOverlap.ALLOW:
        return Overlap.RUN
    if rules.after_completion:
        return Overlap.WAIT
    match rules.on_overlap:
        case OnOverlap.SKIP:
            return Overlap.SKIP
        case OnOverlap.CANCEL_RUNNING:
            return Overlap.CANCEL
        case OnOverlap.QUEUE_ONE | OnOverlap.QUEUE_ALL:
            return Overlap.WAIT
