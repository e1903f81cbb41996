"""The pages of clients, limits, targets, ordering keys and queues, and their forms."""

import re

import httpx
import pytest

from tests.api.access_arrange import make_key
from tests.api.page_arrange import signed_in
from tests.api.test_gates import BLOCK
from tests.conftest import Connection
from tests.store.store_arrange import call, column, schedule, value


async def _sent(page: httpx.AsyncClient, path: str, **form: str) -> str:
    """Submits a form and returns the page it leads to."""
    did = await page.post(path, data=form)
    assert did.status_code == 303, did.text
    return (await page.get(did.headers["location"])).text


async def test_the_client_list_is_paged_and_can_start_at_a_name(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute("insert into pgsched.clients (client_id) select 'c' || n from generate_series(100, 160) n")
    first = (await page.get("/clients")).text
    [more] = re.findall(r'href="([^"]+)" rel="next"', first)
    second = (await page.get(more)).text
    assert '<a href="/clients">Back to the first</a>' in second
    assert [text.count('href="/client?name=c1') for text in (first, second)] == [50, 11]
    found = (await page.get("/clients?start=c155")).text
    assert re.findall(r"name=(c\d+)", found) == [f"c{n}" for n in range(155, 161)]
    assert "Show zebra" in (await page.get("/clients?start=zebra")).text


async def test_a_client_without_settings_is_listed_while_it_has_executions(
    page: httpx.AsyncClient, db: Connection
) -> None:
    schedule(db, client="a b/c?", fire_at="2020-01-01T00:00:00Z")
    schedule(db, client="other", fire_at="2020-01-01T00:00:00Z")
    listed = (await page.get("/clients")).text
    [path] = re.findall(r'href="(/client\?name=a[^"]+)"', listed)
    found = (await page.get(path)).text
    assert "the defaults apply" in found
    assert "<dt>Fair share</dt><dd>50%</dd>" in found
    signed_in(page, make_key(db, clients=["other"]))
    assert "a b" not in (await page.get("/clients")).text


async def test_the_client_list_and_page_show_what_holds_a_client_back(page: httpx.AsyncClient, db: Connection) -> None:
    call(db, "create_queue", name="orders")
    call(db, "pause", kind="queue", name="orders")
    for client in ("bank", "shop", "idle"):
        call(db, "set_client", client=client, changes={"weight": 2})
    ids = [schedule(db, client="shop", queue="orders", fire_at="2020-01-01T00:00:00Z"), schedule(db, client="shop")]
    db.execute("update pgsched.executions set fire_at = 'infinity', gate = 'client:shop' where id = %s", [ids[1]])
    db.execute(
        "insert into pgsched_internal.gates (name, shut_until, openings, failing_since)"
        " values ('circuit:ill.example shop', now() + interval '1 hour', 1, now())"
    )
    schedule(db, client="bank", fire_at="2020-01-01T00:00:00Z")
    listed = (await page.get("/clients")).text
    of_client = dict(re.findall(r'name=(\w+)">\w+</a></th>\s*<td>(.*?)</td>', listed, re.DOTALL))
    of_shop = ["active", "held back", "failing", "paused"]
    for client, words in (("bank", ["active", "late"]), ("idle", ["active"]), ("shop", of_shop)):
        assert re.findall(r'class="status ([^"]+)"', of_client[client]) == words
    for text in ("1 by its limit", "target ill.example", "1 due in paused queues"):
        assert text in of_client["shop"]
    shown = (await page.get("/client?name=shop")).text
    assert [f'class="status {word}"' in shown for word in of_shop] == [True] * 4


async def test_executions_held_by_a_failing_host_link_to_the_targets_page(
    page: httpx.AsyncClient, db: Connection
) -> None:
    held = schedule(db, target="https://ill.example:8443/settle", client="shop", fire_at="2020-01-01T00:00:00Z")
    schedule(db, target="https://well.example/settle", client="shop")
    db.execute(
        "insert into pgsched_internal.gates (name, shut_until, openings, failing_since)"
        " values ('circuit:ill.example:8443 shop', now() + interval '1 hour', 1, now())"
    )
    db.execute(
        "update pgsched.executions set fire_at = 'infinity', gate = 'circuit:ill.example:8443 shop' where id = %s",
        [held],
    )
    listed = (await page.get("/clients")).text
    assert re.search(r'href="/client\?name=shop">shop</a> .*target ill.example:8443', listed)
    assert (
        '<dt>Held back</dt><dd class="bad"><a href="/executions?client=shop&status=held">1</a></dd>'
        in (await page.get("/client?name=shop")).text
    )
    [path] = re.findall(r'<a href="(/executions[^"]*)">1</a>', (await page.get("/targets")).text)
    found = (await page.get(path)).text
    assert re.findall(r'href="/executions/([0-9a-f-]{36})"', found) == [str(held)]
    words = "Target ill.example:8443 is failing for client shop, and is not called until it recovers"
    assert f'<a href="/targets">{words}</a>' in found


async def test_a_client_can_be_held_released_and_changed(page: httpx.AsyncClient, db: Connection) -> None:
    held = await _sent(page, "/client/hold", client="shop", note="they asked")
    assert "Held: no further" in held
    assert "they asked" in held
    assert "Released." in await _sent(page, "/client/release", client="shop")
    told = await _sent(page, "/client/settings", client="shop", weight="7", keep="failures", dead_letters_for="")
    assert 'value="7"' in told
    assert column(
        db, "select (weight, keep, dead_letters_for)::text from pgsched.clients where client_id = 'shop'"
    ) == ['(7,failures,"365 days")']
    done = column(db, "select action from pgsched.audit_log where name = 'shop' and authenticated ~ 'ann' order by id")
    assert done == ["pause", "resume", "set client"]
    wrong = await page.post("/client/settings", data={"client": "shop", "weight": "none"})
    assert (wrong.status_code, "That is not possible" in wrong.text) == (422, True)


async def test_a_limit_can_be_set_changed_and_removed(page: httpx.AsyncClient, db: Connection) -> None:
    listed = await _sent(page, "/limits/set", kind="host", name="shop.example", rate="10", per="1m", concurrency="")
    assert "10 per 60.0 s" in listed
    [change] = re.findall(r'href="(/limits\?change=[^"#]+)', listed)
    assert 'name="rate" type="number" value="10"' in (await page.get(change)).text
    assert "10 per" not in (await page.get("/limits?kind=key")).text
    assert re.search(r"by [^<]*ann[^<]* <a href=.*>history<", listed)
    [going] = re.findall(r"<summary>Remove….*?</details>", listed, re.DOTALL)
    assert "is currently limited to 10 per 60.0 s." in going
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', going))
    assert "There are no limits" in await _sent(page, "/limits/drop", **fields)
    assert value(db, "select count(*) from pgsched.audit_log where kind = 'limit'") == 2
    wrong = await page.post("/limits/set", data={"kind": "host", "name": "shop.example", "rate": "0"})
    assert wrong.status_code == 422
    client = await _sent(page, "/limits/set", kind="client", name="shop", rate="3")
    assert 'href="/client?name=shop"' in client
    there = (await page.get("/client?name=shop")).text
    assert 'value="3"' in there
    assert "Limit: at most 3 per 1.0 s." in there
    assert "is currently limited to 3 per 1.0 s." in there
    gone = await page.post("/limits/drop", data={"kind": "client", "name": "shop", "from": "client"})
    assert gone.headers["location"] == "/client?name=shop&done=drop"


async def test_a_host_can_be_sidelined_and_restored(page: httpx.AsyncClient, db: Connection) -> None:
    listed = await _sent(page, "/targets/sideline", host="down.example", client="shop", until="", note="moving")
    assert 'class="status by hand"' in listed
    assert "moving" in listed
    assert "down.example" in (await page.get("/client?name=shop")).text
    assert "down.example" not in (await page.get("/targets?client=other")).text
    assert "Restored" in await _sent(page, "/targets/restore", host="down.example", client="shop")
    done = column(db, "select action from pgsched.audit_log where authenticated ~ 'ann' order by id")
    assert done == ["pause", "resume"]


async def test_a_failing_host_can_be_sidelined_from_the_targets_page(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute(
        "insert into pgsched_internal.gates (name, events, period, shut_until, openings, failing_since, reason)"
        " values ('circuit:ill.example shop', 10, '1 s', now() + interval '1 hour', 3, '2026-01-02 03:04:05Z',"
        " 'it answered 503')"
    )
    listed = (await page.get("/targets")).text
    assert '<td class="instant">2026-01-02 03:04:05</td>' in listed
    assert "since 2026-01-02 03:04:05" in (await page.get("/now")).text
    assert re.findall(r'<th scope="col"[^>]*>([^<]+)', listed)[:4] == ["State", "Host", "Why", "Actions"]
    [form] = re.findall(r'action="/targets/sideline">(<input type="hidden".*?)</form>', listed)
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    sidelined = await _sent(page, "/targets/sideline", **fields)
    assert 'class="status by hand"' in sidelined
    assert "it answered 503" in sidelined
    assert ("when restored" in sidelined, sidelined.count('action="/targets/sideline"')) == (True, 1)


async def test_a_blocked_ordering_key_can_be_unblocked(page: httpx.AsyncClient, db: Connection) -> None:
    db.execute(BLOCK.encode(), {"key": "account-42"})
    assert "account-42" in (await page.get("/ordering-keys")).text
    assert "account-42" in (await page.get("/client?name=payments")).text
    done = await _sent(page, "/ordering-keys/unblock", client="payments", ordering_key="account-42")
    assert "No ordering key is blocked" in done


async def test_a_queue_can_be_paused_changed_and_resumed(page: httpx.AsyncClient, db: Connection) -> None:
    call(db, "create_queue", name="orders")
    paused = await _sent(page, "/queues/orders/pause")
    assert 'class="status paused"' in paused
    assert "the queue is paused" in paused
    await _sent(page, "/queues/orders/settings", weight="", max_waiting="500")
    assert value(db, "select (weight, max_waiting)::text from pgsched.queues where name = 'orders'") == "(1,500)"
    assert 'class="status paused"' not in await _sent(page, "/queues/orders/resume")
    assert (await page.post("/queues/none/pause")).status_code == 404


@pytest.mark.parametrize("path", ["/limits?kind=x", "/limits?change=host:none", "/client", "/ordering-keys?after=x"])
async def test_unknown_names_and_filters_show_an_error_page(page: httpx.AsyncClient, path: str) -> None:
    found = await page.get(path)
    assert found.status_code in {404, 422, 400}
    assert "That is not possible" in found.text
