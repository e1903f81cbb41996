"""Signing in at a provider with a real browser, in which the two are different sites."""

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


def test_who_comes_from_the_provider_is_at_the_page_they_asked_for_and_is_named_in_the_audit(
    database_url: str, db: Connection
) -> None:
    call(db, "create_queue", name="emails")
    rule = {"claims": {"groups": "oncall"}, "clients": "all", "scopes": ["read", "operate", "admin"]}
    with real_provider() as issuer:
        provider = {"audience": "pgsched", "rules": [rule], "sign_in": {"client_id": "dashboard"}}
        settings = Settings(database_url=database_url, port=0, oidc=json.dumps({issuer: provider}))
        with serving_alone(settings) as (address, _):
            dashboard = address.replace("127.0.0.1", "localhost")  # the provider has the other name: another site
            given = {"address": dashboard, "who": "ann", "unpacked": str(Path(sys.prefix, ".browser"))}
            found = run("sign_in.mjs", given)
    assert found["abroad"].startswith(f"{issuer}/")
    assert found["led"] == ["/sign-in", "the provider", "the provider", "/", "/queues", "/sign-in", "/sign-in"]
    assert (found["name"], found["done"]) == (f"ann ({issuer})", "Paused.")
    assert found["kept"] == [{"name": COOKIE, "httpOnly": True, "sameSite": "Lax"}]
    assert (found["left"], found["said"]) == ([], [])
    assert column(db, "select authenticated from pgsched.audit_log where action = 'pause'") == [f"ann ({issuer})"]
