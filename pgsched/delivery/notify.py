"""notify: targets. Sends a notification with the payload, in the transaction that settles the execution.

Sessions that are listening when the execution is done receive the notification once. All other sessions miss it.
"""

from collections.abc import Callable
from functools import partial

from pgsched.delivery.exception_outcomes import FinalFailure, outcome_of
from pgsched.delivery.slots import Slots, alone
from pgsched.domain.attempt_outcome import AlreadySettled, Outcome
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.store.core.client_role_sessions import Sessions
from pgsched.store.ends import transactional_targets

LONGEST_PAYLOAD = 7999
"""Maximum number of bytes that PostgreSQL accepts in a notification."""

_PREFIX = len("notify:")
_OURS = "pgsched"


class NotifyChannel:
    """Notifies the channels of notify: targets, in sessions of the worker's own login. ``is_of_others`` takes a client
    and a target, and returns whether the target's channel belongs only to other clients."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        is_shared: Callable[[], bool] = alone,
        is_of_others: Callable[[str, str], bool] = lambda client, target: False,
    ) -> None:
        self._sessions, self._is_of_others = sessions, is_of_others
        self._slots = Slots("sessions that notify", sessions.most, is_shared=is_shared)

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        """Sends one notification. Without a payload, the notification's text is empty."""
        channel, payload = execution.target[_PREFIX:], execution.payload or b""
        self._slots.take(execution.client_id)
        try:
            if self._is_of_others(execution.client_id, execution.target):
                raise FinalFailure(f"the channel {channel} belongs to another client; notify one of your own")
            _check(channel, payload)
            await self._sessions.work(
                "",
                partial(
                    transactional_targets.notify_target, execution=execution, channel=channel, payload=payload.decode()
                ),
            )
        except Exception as error:
            return outcome_of(error)
        finally:
            self._slots.give_back(execution.client_id)
        return AlreadySettled()

    async def close(self) -> None:
        await self._sessions.close()


def _check(channel: str, payload: bytes) -> None:
    if channel.lower().startswith(_OURS):
        raise FinalFailure(f"the channel {channel} is reserved; use one that does not begin with {_OURS}")
    if len(payload) > LONGEST_PAYLOAD:
        raise FinalFailure(
            f"the payload has {len(payload)} bytes, but PostgreSQL sends at most {LONGEST_PAYLOAD} with a "
            "notification: store the data in a table and schedule a reference to it"
        )
