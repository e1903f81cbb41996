"""Text from clients: control characters are escaped on pages and kept in form fields."""

from html import unescape

import httpx

from tests.conftest import Connection
from tests.store.store_arrange import call, finish, schedule

_TURNED = "paid\u202egnihton"


async def test_bidirectional_control_characters_are_escaped(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, client=_TURNED, key=_TURNED, target="python:note", delay="1 hour")
    call(db, "set_client", client=_TURNED, changes={"weight": 2})
    call(db, "pause", kind="client", name=_TURNED, note=_TURNED)
    for path in ("/executions", f"/executions/{id}", "/clients"):
        text = (await page.get(path)).text
        assert ("\u202e" in unescape(text), "paid\\u202egnihton" in text) == (False, True), path


async def test_a_form_field_preserves_control_characters(page: httpx.AsyncClient, db: Connection) -> None:
    call(db, "set_client", client=_TURNED, changes={"weight": 2})
    text = unescape((await page.get("/client", params={"name": _TURNED})).text)
    assert f'name="client" value="{_TURNED}"' in text


async def test_a_succeeded_run_shows_no_progress(page: httpx.AsyncClient, db: Connection) -> None:
    id = schedule(db, target="python:note", delay="1 hour")
    progress = "insert into pgsched.progress (execution_id, partition, client_id, fraction)"
    db.execute(f"{progress} values (%s, 0, 'default', 0.98)".encode(), [id])
    assert "98%" in (await page.get(f"/executions/{id}")).text
    finish(db, id, ended="succeeded")
    assert "98%" not in (await page.get(f"/executions/{id}")).text


async def test_the_first_link_on_a_list_page_skips_to_the_rows(page: httpx.AsyncClient, db: Connection) -> None:
    schedule(db, key="k", target="python:note", delay="1 hour")
    schedule(db, key="j", target="python:note", every="1 hour")
    for path in ("/executions", "/jobs"):
        text = (await page.get(path)).text
        body = text[text.index("<body>") :]
        assert body.index('href="#rows"') == body.index("href="), path
        assert 'id="rows"' in body
