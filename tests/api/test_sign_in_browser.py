"""Signing in at a provider on another site, in a real browser."""

import json
import sys
from pathlib import Path

from pgsched.api.pages.session import COOKIE
from pgsched.settings import Settings
from tests.api.oidc_arrange import real_provider
from tests.conftest import Connection
from tests.node.running import run
from tests.processes import serving_alone
from tests.store.store_arrange import call, column


def test_a_sign_in_returns_to_the_page_and_the_audit_log_names_the_user(database_url: str, db: Connection) -> None:
    call(db, "create_queue", name="emails")
    rule = {"claims": {"groups": "oncall"}, "clients": "all", "scopes": ["read", "operate", "admin"]}
    with real_provider() as issuer:
        provider = {"audience": "pgsched", "rules": [rule], "sign_in": {"client_id": "dashboard"}}
        settings = Settings(database_url=database_url, port=0, oidc=json.dumps({issuer: provider}))
        with serving_alone(settings) as (address, _):
            dashboard = address.replace("127.0.0.1", "localhost")  # the provider is at 127.0.0.1: another site
            given = {"address": dashboard, "who": "ann", "unpacked": str(Path(sys.prefix, ".browser"))}
            found = run("sign_in.mjs", given)
    assert found["abroad"].startswith(f"{issuer}/")
    assert found["led"] == ["/sign-in", "the provider", "the provider", "/", "/queues", "/sign-in", "/sign-in"]
    assert (found["name"], found["done"]) == (f"ann ({issuer})", "Paused.")
    assert found["kept"] == [{"name": COOKIE, "httpOnly": True, "sameSite": "Lax"}]
    assert (found["left"], found["said"]) == ([], [])
    assert column(db, "select authenticated from pgsched.audit_log where action = 'pause'") == [f"ann ({issuer})"]
