"""Django: inserts by an unmanaged model, and calls to ``schedule``, in an ``atomic`` transaction."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import django
import psycopg
import pytest
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models.functions import Now

import pgsched
from tests.interop.conftest import Connection, scheduled

if not settings.configured:
    settings.configure(USE_TZ=True, DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "-"}})
    django.setup()


class DatabaseUUID(models.AutoField):  # type: ignore[misc]
    """A primary key that the database generates."""

    validators = ()

    def get_internal_type(self) -> str:
        return "UUIDField"

    def to_python(self, value: object) -> UUID | None:
        return value if value is None or isinstance(value, UUID) else UUID(str(value))

    get_prep_value = to_python


class Execution(models.Model):  # type: ignore[misc]
    id = DatabaseUUID(primary_key=True)
    client_id = models.TextField(default="webshop")
    target = models.TextField()
    payload = models.JSONField(null=True)
    fire_at = models.DateTimeField()

    class Meta:
        app_label = "webshop"
        managed = False
        db_table = 'pgsched"."executions'


@pytest.fixture
def atomic(webshop: Connection, database_url: str) -> Iterator[None]:
    """Connects Django to the test's database with the service's role."""
    info = psycopg.conninfo.conninfo_to_dict(database_url)
    connection.settings_dict.update(
        NAME=info["dbname"], USER=info["user"], PASSWORD=info["password"], HOST=info["host"], PORT=info["port"],
        OPTIONS={"options": "-c role=webshop_service"},
    )  # fmt: skip
    yield
    connection.close()


@pytest.mark.usefixtures("atomic")
def test_a_row_inserted_by_a_model_is_scheduled_at_commit(webshop: Connection) -> None:
    with transaction.atomic():
        made = Execution.objects.create(target="https://shop.example/ship", payload={"order": 42}, fire_at=Now())
        assert scheduled(webshop) == []
    assert scheduled(webshop) == [("https://shop.example/ship", {"order": 42}, "webshop")]
    assert Execution.objects.get(pk=made.pk).payload == {"order": 42}


@pytest.mark.usefixtures("atomic")
def test_a_rolled_back_insert_is_not_scheduled(webshop: Connection) -> None:
    with transaction.atomic():
        Execution.objects.create(target="https://shop.example/ship", fire_at=Now())
        transaction.set_rollback(True)
    assert scheduled(webshop) == []


@pytest.mark.usefixtures("atomic")
def test_bulk_create_schedules_all_rows(webshop: Connection) -> None:
    with transaction.atomic():
        Execution.objects.bulk_create(
            Execution(target="https://shop.example/ship", payload={"order": n}, fire_at=Now() + timedelta(seconds=n))
            for n in range(3)
        )
    assert [row[1] for row in scheduled(webshop)] == [{"order": n} for n in range(3)]


@pytest.mark.usefixtures("atomic")
def test_schedule_accepts_djangos_psycopg_connection(webshop: Connection) -> None:
    with transaction.atomic():
        connection.ensure_connection()
        pgsched.schedule(connection.connection, "https://shop.example/ship", payload={"order": 7}, client="webshop")
    assert scheduled(webshop) == [("https://shop.example/ship", {"order": 7}, "webshop")]
