"""Helpers for applications' tests: a worker stepped by hand, time travel, and assertions about scheduled calls.

    pytest_plugins = ["pgsched.testing"]  # in conftest.py, next to the fixtures pgsched_database_url and pgsched_app

    def test_an_order_is_shipped_after_a_day(pgsched_kit, shop):
        shop.place_order(42)
        pgsched_kit.assert_scheduled("python:ship", payload={"order": 42}, delay="1d")
        pgsched_kit.advance("1d")
        [ran] = pgsched_kit.run_due()
        assert ran.status == "succeeded"

Everything runs on the application's own test database, with the statements that workers use. Only the fixtures need
pytest; ``Kit`` works without it.
"""

from importlib.util import find_spec

from pgsched.testing.kit import Kit
from pgsched.testing.scheduled import ScheduledCall
from pgsched.testing.stepped_worker import Ran

if find_spec("pytest"):
    from pgsched.testing.fixtures import pgsched_app, pgsched_database_url, pgsched_kit

__all__ = ["Kit", "Ran", "ScheduledCall", "pgsched_app", "pgsched_database_url", "pgsched_kit"]
