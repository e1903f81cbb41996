from pgsched.delivery.channel import Channels
from pgsched.domain.attempt_outcome import Failed, Outcome, Succeeded, Undeliverable
from pgsched.domain.execution import ClaimedExecution
from pgsched.domain.execution_options import Options
from pgsched.domain.target import Scheme
from tests.delivery.receiver import execution


class Noting:
    """A channel that records its targets."""

    def __init__(self) -> None:
        self.targets, self.closed = list[str](), 0

    async def deliver(self, execution: ClaimedExecution, options: Options, deadline: float) -> Outcome:
        self.targets.append(execution.target)
        return Succeeded()

    async def close(self) -> None:
        self.closed += 1


async def test_each_target_reaches_its_schemes_channel() -> None:
    http, python = Noting(), Noting()
    channels = Channels(http=http, python=python)
    for target in ("http://a", "https://b", "HTTPS://c", "python:work"):
        assert await channels.deliver(execution(target), Options(), 5) == Succeeded()
    assert http.targets == ["http://a", "https://b", "HTTPS://c"]
    assert python.targets == ["python:work"]


async def test_an_additional_scheme_is_delivered_by_its_own_channel() -> None:
    kafka = Noting()
    channels = Channels(http=Noting(), python=Noting(), others={Scheme.KAFKA: kafka})
    assert await channels.deliver(execution("kafka:orders"), Options(), 5) == Succeeded()
    await channels.close()
    assert (kafka.targets, kafka.closed) == (["kafka:orders"], 1)


async def test_an_unknown_scheme_is_left_to_other_workers() -> None:
    outcome = await Channels(http=Noting(), python=Noting()).deliver(execution("amqp:orders"), Options(), 5)
    assert outcome == Undeliverable(capability="amqp:")


async def test_a_client_may_use_only_its_allowed_channels() -> None:
    http, python = Noting(), Noting()
    channels = Channels(http=http, python=python, allowed={"shop": frozenset({"http"})}.get)
    assert await channels.deliver(execution("HTTPS://c"), Options(), 5) == Succeeded()
    refused = await channels.deliver(execution("python:work"), Options(), 5)
    error = "client 'shop' is not allowed to use python targets: its channels are http"
    assert refused == Failed(error=error, retryable=False)
    assert await channels.deliver(execution("python:work", client_id="other"), Options(), 5) == Succeeded()
    assert (http.targets, python.targets) == (["HTTPS://c"], ["python:work"])


async def test_closing_the_router_closes_each_channel_once() -> None:
    http, python = Noting(), Noting()
    await Channels(http=http, python=python).close()
    assert (http.closed, python.closed) == (1, 1)


async def test_a_pull_target_in_a_push_queue_fails_for_good_with_advice() -> None:
    outcome = await Channels(http=Noting(), python=Noting()).deliver(execution("queue:"), Options(), 5)
    assert isinstance(outcome, Failed)
    assert not outcome.retryable
    assert "a pulled queue" in outcome.error
