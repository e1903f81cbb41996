"""Clients: settings, signing secrets, pausing and dropping, and who may do what."""

from datetime import timedelta
from typing import Any

import pytest
from psycopg import sql

from tests.store.store_arrange import Connection, call, column, heard, listening, refused, rotate, row, schedule, value

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + "A" * 32


def grant(db: Connection, session: Connection, function: str) -> None:
    role = sql.Identifier(value(session, "select session_user::text"))
    db.execute(sql.SQL("grant execute on function {} to {}").format(sql.SQL(function), role))


def settings(db: Connection, client: str) -> tuple[Any, ...]:
    return row(db, "select keep::text, options, weight, state from pgsched.clients where client_id = %s", [client])


def test_set_client_creates_a_client_with_defaults(db: Connection) -> None:
    assert call(db, "set_client", client="shop", changes={"weight": 5}) is True
    assert settings(db, "shop") == ("all", None, 5, "active")


def test_set_client_changes_only_the_given_settings(db: Connection) -> None:
    call(db, "set_client", client="shop", changes={"weight": 5, "keep": "nothing"})
    call(db, "set_client", client="shop", changes={"options": {"timeout": "5s"}})
    assert settings(db, "shop") == ("nothing", {"timeout": "5s"}, 5, "active")


def test_set_client_with_null_restores_the_default(db: Connection) -> None:
    call(db, "set_client", client="shop", changes={"weight": 5, "keep": "nothing", "options": {"timeout": "5s"}})
    call(db, "set_client", client="shop", changes={"weight": None, "keep": None, "options": None})
    assert settings(db, "shop") == ("all", None, 1, "active")


def test_set_client_sets_and_resets_the_dead_letter_settings(db: Connection) -> None:
    stored = "select dead_letter_target, dead_letters_for from pgsched.clients where client_id = 'shop'"
    call(db, "set_client", client="shop", changes={"dead_letter_target": "python:dead", "dead_letters_for": "P90D"})
    assert row(db, stored) == ("python:dead", timedelta(days=90))
    call(db, "set_client", client="shop", changes={"dead_letter_target": None, "dead_letters_for": None})
    assert row(db, stored) == (None, timedelta(days=365))


def test_set_client_with_the_current_value_is_a_no_op(db: Connection) -> None:
    call(db, "set_client", client="shop", changes={"weight": 5})
    assert call(db, "set_client", client="shop", changes={"weight": 5}) is False
    assert column(db, "select action from pgsched.audit_log") == ["set client"]


def test_set_client_logs_the_actor_and_the_changed_settings(db: Connection) -> None:
    call(db, "set_client", client="shop", changes={"weight": 5, "keep": "failures"}, actor="ann")
    logged = row(db, "select actor, action, detail from pgsched.audit_log")
    assert logged == ("ann", "set client", {"client": "shop", "changed": ["keep", "weight"]})


def test_set_client_notifies_workers(db: Connection, store_url: str) -> None:
    with listening(store_url) as listener:
        call(db, "set_client", client="shop", changes={"weight": 5})
        assert "clients" in heard(listener, db)


@pytest.mark.parametrize(
    ("state", "hint", "changes"),
    [
        ("PS000", "weight", []),
        ("PS000", "keep, options, weight", {"wieght": 1}),
        ("PS000", "keep, options, weight", {"signing_secret": SECRET}),
        ("PS000", "1 to 100", {"weight": 0}),
        ("PS000", "1 to 100", {"weight": 101}),
        ("PS000", "1 to 100", {"weight": 1.5}),
        ("PS000", "1 to 100", {"weight": "5"}),
        ("PS000", "failures", {"keep": "some"}),
        ("PS000", "failures", {"keep": 1}),
        ("PS000", "create role", {"database_role": "nobody at all"}),
        ("PS000", "create role", {"database_role": 1}),
        ("PS001", "https://", {"dead_letter_target": "ops.example"}),
        ("PS001", "https://", {"dead_letter_target": ""}),
        ("PS001", "https://", {"dead_letter_target": 1}),
        ("PS000", "90d", {"dead_letters_for": "59m"}),
        ("PS000", "90d", {"dead_letters_for": "P3654D"}),
        ("PS000", "90d", {"dead_letters_for": "a while"}),
        ("PS000", "90d", {"dead_letters_for": 90}),
        ("PS000", '"1s"', {"late_after": "2h"}),
        ("PS000", '"1s"', {"late_after": 1}),
        ("PS000", "0.99", {"on_time_share": 1}),
        ("PS000", "0.99", {"on_time_share": "0.9"}),
        ("PS004", "options", {"options": []}),
        ("PS004", "max_attempts", {"options": {"attempts": 5}}),
        ("PS004", "PT5S", {"options": {"timeout": "soon"}}),
        ("PS004", "each execution", {"options": {"on_success": "python:told"}}),
        ("PS004", "each execution", {"options": {"on_failure": "python:told"}}),
        ("PS004", "each execution", {"options": {"on_expired": "python:told"}}),
        ("PS004", "each execution", {"options": {"limit_key": "merchant"}}),
        ("PS004", "each execution", {"options": {"priority": 5}}),
    ],
)
def test_invalid_settings_are_refused_and_nothing_is_set(db: Connection, state: str, hint: str, changes: Any) -> None:
    from psycopg.types.json import Jsonb

    with refused(state, hint=hint):
        call(db, "set_client", client="shop", changes=Jsonb(changes))
    assert column(db, "select client_id from pgsched.clients where client_id = 'shop'") == []


@pytest.mark.parametrize("client", ["", "x" * 101, None])
@pytest.mark.parametrize("function", ["set_client", "drop_signing_secret", "drop_client"])
def test_an_invalid_client_name_is_refused(db: Connection, function: str, client: str | None) -> None:
    with refused("PS000", hint="client =>"):
        call(db, function, client=client)


def test_pausing_a_client_stores_a_reason_until_the_client_is_resumed(db: Connection) -> None:
    assert call(db, "pause", kind="client", name="shop", note="unpaid") is True
    assert call(db, "pause", kind="client", name="shop") is False
    held = "select state, reason from pgsched.clients where client_id = 'shop'"
    assert row(db, held) == ("held", "unpaid")
    assert call(db, "resume", kind="client", name="shop", note="paid") is True
    assert call(db, "resume", kind="client", name="shop") is False
    assert row(db, held) == ("active", None)
    assert column(db, "select detail ->> 'note' from pgsched.audit_log order by id") == ["unpaid", "paid"]


def test_set_client_does_not_resume_a_paused_client(db: Connection) -> None:
    call(db, "pause", kind="client", name="shop", note="unpaid")
    call(db, "set_client", client="shop", changes={"weight": 2})
    assert settings(db, "shop")[3] == "held"


def test_dropping_a_client_deletes_its_secrets_and_keeps_its_executions(db: Connection) -> None:
    call(db, "set_client", client="shop", changes={"weight": 5})
    rotate(db)
    rotate(db)
    schedule(db, client="shop")
    assert call(db, "drop_client", client="shop") is True
    assert call(db, "drop_client", client="shop") is False
    assert column(db, "select hint from pgsched_internal.signing_secrets") == []
    assert column(db, "select client_id::text from pgsched.executions") == ["shop"]


def test_the_default_client_cannot_be_dropped(db: Connection) -> None:
    with refused("PS011", hint="set_client"):
        call(db, "drop_client", client="default")


def test_a_client_with_api_keys_cannot_be_dropped(db: Connection) -> None:
    call(db, "set_client", client="shop")
    key = "select pgsched_internal.create_key(repeat('0', 16), sha256('x'), 'ann', '{bank,shop}', '{read}', null)"
    db.execute(key.encode())
    with refused("PS011", hint="revoke them"):
        call(db, "drop_client", client="shop")
    db.execute("select pgsched_internal.revoke_key(repeat('0', 16))")
    assert call(db, "drop_client", client="shop") is True


def test_only_the_last_four_characters_of_a_secret_are_shown_and_logged(db: Connection) -> None:
    made = rotate(db)
    hints = row(db, "select hint, valid_until from pgsched.signing_secrets('shop')")
    assert hints == ("whsec_…" + made[-4:], None)
    logged = row(db, "select action, after -> 'hint', after -> 'sealed', a::text from pgsched.audit_log a")
    assert logged[:3] == ("rotate signing secret", made[-4:], {"bytes": 179})
    assert made not in logged[3]


def test_the_previous_secret_stays_valid_for_a_day_after_a_rotation(db: Connection) -> None:
    rotate(db, SECRET)
    rotate(db, OTHER)
    former = "select hint, valid_until - pgsched.now() > '23:59' from pgsched.signing_secrets('shop')"
    assert db.execute(former.encode()).fetchall() == [("whsec_…AAAA", None), ("whsec_…LaSw", True)]
    assert column(db, "select hint from pgsched.signing_secrets('shop')") == ["whsec_…AAAA", "whsec_…LaSw"]


def test_rotating_with_a_zero_keep_for_time_invalidates_previous_secrets(db: Connection) -> None:
    rotate(db, SECRET)
    rotate(db, OTHER)
    rotate(db, keep_for="0")
    assert column(db, "select valid_until from pgsched_internal.signing_secrets") == [None]


def test_a_previous_secret_can_become_current_again(db: Connection) -> None:
    for secret in (SECRET, OTHER, SECRET):
        rotate(db, secret)
    assert column(db, "select hint from pgsched.signing_secrets('shop')")[:2] == ["whsec_…LaSw", "whsec_…AAAA"]


def test_expired_signing_secrets_are_not_listed(db: Connection) -> None:
    rotate(db, SECRET)
    rotate(db, OTHER)
    db.execute("update pgsched_internal.signing_secrets set valid_until = now() - interval '1 s' where hint = 'LaSw'")
    assert column(db, "select hint from pgsched.signing_secrets('shop')") == ["whsec_…AAAA"]


@pytest.mark.parametrize("keep_for", ["-1 second", "367 days"])
def test_a_negative_or_overlong_keep_for_time_is_refused(db: Connection, keep_for: str) -> None:
    with refused("PS000", hint="24 hours"):
        rotate(db, keep_for=keep_for)


def test_a_sixth_valid_secret_is_refused(db: Connection) -> None:
    for _ in range(5):
        rotate(db)
    with refused("PS011", hint="keep_for"):
        rotate(db)


def test_dropping_the_signing_secret_drops_previous_secrets_too(db: Connection) -> None:
    rotate(db)
    rotate(db)
    assert call(db, "drop_signing_secret", client="shop") is True
    assert call(db, "drop_signing_secret", client="shop") is False
    assert column(db, "select hint from pgsched.signing_secrets('shop')") == []


def test_a_client_reads_only_its_own_settings_and_secret_hints(db: Connection, payments: Connection) -> None:
    call(db, "set_client", client="payments", changes={"options": {"timeout": "5s"}, "weight": 3})
    call(db, "set_client", client="billing", changes={"weight": 2})
    rotate(db, SECRET, client="payments")
    assert row(payments, "select client_id, options, weight from pgsched.clients") == ("payments", {"timeout": "5s"}, 3)
    assert column(payments, "select hint from pgsched.signing_secrets('payments')") == ["whsec_…LaSw"]
    assert column(payments, "select hint from pgsched.signing_secrets('billing')") == []
    with refused("42501"):
        payments.execute("select sealed from pgsched_internal.signing_secrets")


@pytest.mark.parametrize(
    "function",
    ["set_client", "drop_signing_secret", "drop_client"],
)
def test_a_client_may_not_change_its_settings(payments: Connection, function: str) -> None:
    with refused("42501"):
        call(payments, function, client="payments")


@pytest.mark.parametrize("kind", ["client", "queue", "worker", "target", "installation"])
def test_a_client_may_not_pause_or_resume_anything_but_jobs(payments: Connection, kind: str) -> None:
    named = {"name": "payments"} if kind != "installation" else {}
    for verb in ("pause", "resume"):
        with refused("PS012"):
            call(payments, verb, kind=kind, **named)


def test_a_client_that_may_call_set_client_changes_only_its_own_settings(db: Connection, payments: Connection) -> None:
    grant(db, payments, "pgsched.set_client(text, jsonb, text)")
    assert call(payments, "set_client", client="payments", changes={"options": {"timeout": "5s"}}) is True
    assert call(payments, "pause", kind="client", name="payments") is True
    with refused("PS012", hint="role that belongs to that client"):
        call(payments, "pause", kind="client", name="default")
    with refused("PS012", hint="role that belongs to that client"):
        call(payments, "set_client", client="default", changes={"weight": 100})
    role = value(db, "select session_user::text")
    with refused("PS012", hint="database_role"):
        call(payments, "set_client", client="payments", changes={"database_role": role})


def test_dropping_a_paused_client_opens_the_clients_gate(db: Connection) -> None:
    call(db, "pause", kind="client", name="shop")
    assert call(db, "drop_client", client="shop")
    shut = "select count(*) from pgsched_internal.gates where name = 'client:shop' and shut_until is not null"
    assert value(db, shut) == 0


def test_a_clients_own_cancellation_is_logged_only_with_a_note(db: Connection, payments: Connection) -> None:
    first, second, third = (schedule(db, client="payments") for _ in range(3))
    db.execute("delete from pgsched.audit_log")
    call(payments, "cancel", id=first)
    assert value(db, "select count(*) from pgsched.audit_log") == 0
    call(payments, "cancel", id=second, note="paid already")
    call(db, "cancel", id=third)
    logged = column(db, "select name from pgsched.audit_log where action = 'cancel' order by id")
    assert logged == [str(second), str(third)]
