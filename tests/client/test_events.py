"""``client.events()``: each event arrives once, even over connections that break."""

import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import httpx
import msgspec
import pytest

from pgsched.client import AsyncClient, Client, Event
from pgsched.errors import InvalidInput, PgschedError, Unauthenticated, Unavailable

_MOMENT = "2026-03-01T09:00:00Z"


def _frame(number: int) -> bytes:
    fields = {
        "cursor": f"c{number}", "id": str(uuid.UUID(int=number)), "client": "shop", "key": "a\u2028\x85b",
        "job_id": None, "queue": "default", "status": "failed", "target": "notify:a", "scheduled_for": _MOMENT,
        "finished_at": _MOMENT, "attempt": 1, "status_code": 500, "reason": "no", "instants": None,
        "last_scheduled_for": None,
    }  # fmt: skip
    return b"id: c%d\ndata: %s\n\n" % (number, msgspec.json.encode(fields))


_OPENING = b"retry: 1000\nid: c0\n\n"


class _Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, *pieces: bytes, breaks: bool = False) -> None:
        self._pieces, self._breaks = pieces, breaks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._breaks:
            raise httpx.ReadError("cut")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class _Api:
    """Returns its answers in order and records each request's ``after``."""

    def __init__(self, *answers: httpx.Response) -> None:
        self._answers = list(answers)
        self.asked: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.params.get("after"))
        return self._answers.pop(0)

    def client(self) -> Client:
        return Client("http://api", transport=httpx.MockTransport(self))


def _answer(*pieces: bytes, breaks: bool = False) -> httpx.Response:
    return httpx.Response(200, stream=_Pieces(*pieces, breaks=breaks))


def _problem(status: int, code: str) -> httpx.Response:
    return httpx.Response(status, json={"code": f"pgsched.{code}", "detail": "no"}, headers={"Retry-After": "0"})


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgsched.client.http.time.sleep", lambda _: None)


def test_a_broken_stream_resumes_after_the_last_event() -> None:
    second = _frame(2)
    api = _Api(
        _answer(_OPENING, _frame(1), second[:30], breaks=True),
        _problem(503, "unavailable"),
        _answer(b"retry: 1000\nid: c1\n\n:\nid: c1b\n\n"),
        _answer(second[:30], second[30:] + _frame(3)),
        _problem(401, "unauthenticated"),
    )
    with api.client() as client:
        events = client.events(client="shop")
        seen = [next(events) for _ in range(3)]
        with pytest.raises(Unauthenticated):
            next(events)
    assert [event.cursor for event in seen] == ["c1", "c2", "c3"]
    assert seen[0].key == "a\u2028\x85b"
    assert api.asked == [None, "c1", "c1", "c1b", "c3"]


def test_an_unreachable_api_is_retried_a_limited_number_of_times() -> None:
    api = _Api(_answer(_OPENING, breaks=True), *(_answer(breaks=True) for _ in range(2)))
    with api.client() as client, pytest.raises(Unavailable, match="cannot be reached"):
        list(client.events())
    assert len(api.asked) == 3


def test_repeatedly_empty_streams_raise_unavailable() -> None:
    api = _Api(*(_answer() for _ in range(3)))
    with api.client() as client, pytest.raises(Unavailable, match="ends every event stream"):
        list(client.events())


def test_an_invalid_event_or_filter_is_refused() -> None:
    with (
        _Api(_answer(b"id: x\ndata: {}\n\n")).client() as client,
        pytest.raises(PgschedError, match="not a pgsched event"),
    ):
        list(client.events())
    with pytest.raises(TypeError, match="host"):
        next(client.events(host="shop.example"))  # type: ignore[call-arg]


def test_events_are_read_from_a_cursor_and_filtered_by_status(address: str) -> None:
    tenant = uuid.uuid4().hex
    with Client(address) as client:
        ids = [client.schedule("notify:a", delay="1h", client=tenant).id for _ in range(3)]
        for id in ids:
            client.cancel(id)
        found = list(client.events(client=tenant, after="0.0.0..", wait=timedelta(0)))
        assert [event.id for event in found] == ids
        assert isinstance(found[0], Event)
        rest = client.events(client=tenant, after=found[0].cursor, status=("failed", "cancelled"), wait="0s")
        assert [event.id for event in rest] == ids[1:]
        with pytest.raises(InvalidInput, match="not the id"):
            next(client.events(after="x"))


async def test_the_async_client_yields_events_as_they_arrive(address: str) -> None:
    tenant = uuid.uuid4().hex
    async with AsyncClient(address) as client:
        ids = [(await client.schedule("notify:a", delay="1h", client=tenant)).id for _ in range(2)]
        await client.cancel(ids[0])
        events = client.events(client=tenant, after="0.0.0..")
        assert (await anext(events)).id == ids[0]
        await client.cancel(ids[1])
        assert (await anext(events)).id == ids[1]
        await events.aclose()  # type: ignore[attr-defined]
