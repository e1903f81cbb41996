"""What a client can have, for tests that call every verb: waiting, failed and leased executions, and a job."""

from typing import Any
from uuid import UUID, uuid4

from tests.store.store_arrange import Connection

_FAILED = """
insert into pgsched.history (finished_at, fire_at, scheduled_for, created_at, id, status, partition, attempt, client_id,
                             target)
values (now(), now(), now(), now(), %s, 'failed', 0, 1, 'default', 'https://a')"""
_WORKER = """
insert into pgsched.workers (id, name, queues, release, expires_at) overriding system value
values (1, 'here:1', '{default}', '1', now() + interval '1 h')"""
_FILTER = '{"key": "k"}'


class House:
    """A database that has one of each, and the queues `pulled` and `empty`."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self.waiting = self._one("select pgsched.schedule('https://a', delay => '1 day')")
        other = self._one("select pgsched.schedule('https://a', delay => '1 day', key => 'k')")
        self.held = self._one("select pgsched.schedule('https://a', after => array[%s])", str(other))
        self.job = self._one("select pgsched.schedule('https://a', every => '1 hour')")
        self.operation = self._one("select id from pgsched.bulk('replay', %s)", _FILTER)
        self.failed = uuid4()
        db.execute(_FAILED.encode(), [self.failed])
        db.execute(_WORKER)
        db.execute("select pgsched.schedule('queue:', queue => 'pulled')")
        claimed: Any = db.execute("select id, token from pgsched.claim('pulled', 'w', batch => 1)").fetchone()
        self.claimed, self.token = claimed

    def _one(self, query: str, *values: Any) -> UUID:
        row: Any = self._db.execute(query.encode(), values).fetchone()
        found: UUID = row[0]
        return found

    def sane(self, verb: str, names: list[str]) -> dict[str, Any]:
        """Valid arguments for a verb with arguments of these names."""
        return (self._of_executions() | self._of_jobs() | self._of_settings())[verb]

    def _of_executions(self) -> dict[str, dict[str, Any]]:
        leased = {"id": self.claimed, "token": self.token}
        return {
            "schedule": {"target": "https://a"},
            "schedule_outcome": {"target": "https://a"},
            "partition_for": {"queue": "default", "client_id": "shop"},
            "status_of": {"client": "default", "key": "k"},
            "cancel": {"client": "default", "key": "k"},
            "edit": {"client": "default", "key": "k", "changes": '{"payload": 5}'},
            "claim": {"queue": "pulled", "worker": "w"},
            "complete": leased,
            "extend": leased,
            "release": leased,
            "fail": leased | {"error": "no paper"},
            "replay": {"id": self.failed},
            "discard": {"id": self.failed},
            "bulk": {"action": "reschedule", "filter": _FILTER, "fire_at": "tomorrow"},
            "stop_bulk": {"id": self.operation},
        }

    def _of_jobs(self) -> dict[str, dict[str, Any]]:
        return {
            "pause": {"kind": "target", "name": "shop.example", "client": "default"},
            "resume": {"kind": "ordering_key", "client": "default", "name": "o"},
            "trigger": {"job_id": self.job},
        }

    def _of_settings(self) -> dict[str, dict[str, Any]]:
        weight = '{"weight": 2}'
        return {
            "set_client": {"client": "shop", "changes": weight},
            **{verb: {"client": "shop"} for verb in ("drop_client", "drop_signing_secret")},
            "drop_secret": {"client": "shop", "name": "token"},
            "secrets": {"client": "shop"},
            "signing_secrets": {"client": "default"},
            "create_queue": {"name": "another"},
            "drop_queue": {"name": "empty"},
            "set_queue": {"name": "pulled", "changes": weight},
            "set_limit": {"kind": "client", "name": "shop", "rate": 1},
            "drop_limit": {"kind": "client", "name": "shop"},
            "set_installation": {"changes": '{"history_days": 40}'},
        }
