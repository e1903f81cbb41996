"""Methods for pgsched's clients (tenants), shared by both SDK clients: settings, holds and signing secrets."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from pgsched.api_responses import Page
from pgsched.client.requests import Call, Length, body, check_names, path, present
from pgsched.client.sync_async_methods import method, pages
from pgsched.store.admin.clients import ClientRow
from pgsched.store.admin.secrets import SecretRow


class ClientChanges(TypedDict, total=False):
    """Settings to change; None restores the default. ``options`` are replaced as a whole."""

    keep: str | None
    options: Mapping[str, Any] | None
    weight: int | None
    database_role: str | None
    channels: Sequence[str] | None
    dead_letter_target: str | None
    dead_letters_for: Length | None
    late_after: Length | None
    on_time_share: float | None


class ClientMethods:
    """Methods for pgsched's clients (tenants), shared by both SDK clients."""

    @method
    def list_clients(self, *, limit: int = 50, after: str | None = None) -> Call[Page[ClientRow]]:
        """One page of the clients that have settings, sorted by name."""
        return Call("GET", path("clients"), Page[ClientRow], query={"limit": limit, "after": after})

    iter_clients = pages(list_clients)

    @method
    def get_client(self, client: str) -> Call[ClientRow]:
        """A client's settings, with the last characters of its signing secrets."""
        return Call("GET", path("clients", client), ClientRow)

    @method
    def set_client(self, client: str, **settings: Unpack[ClientChanges]) -> Call[ClientRow]:
        """Changes the given settings."""
        check_names(settings, ClientChanges)
        return Call("PATCH", path("clients", client), ClientRow, body=body(settings))

    @method
    def drop_client(self, client: str) -> Call[bool]:
        """Deletes a client's settings, but not its jobs and executions."""
        return Call("DELETE", path("clients", client), bool, "changed")

    @method
    def hold_client(self, client: str, *, note: str | None = None) -> Call[bool]:
        """Holds a client: none of its executions starts until it is released. Returns False if it was already held."""
        return Call("POST", path("clients", client, "pause"), bool, "changed", body={"note": note})

    @method
    def release_client(self, client: str, *, note: str | None = None) -> Call[bool]:
        """Releases a held client. Returns False if it was not held."""
        return Call("POST", path("clients", client, "resume"), bool, "changed", body={"note": note})

    @method
    def list_secrets(self, client: str, *, limit: int = 50, after: str | None = None) -> Call[Page[SecretRow]]:
        """One page of a client's secrets, sorted by name, without their values."""
        return Call("GET", path("clients", client, "secrets"), Page[SecretRow], query={"limit": limit, "after": after})

    iter_secrets = pages(list_secrets)

    @method
    def put_secret(self, client: str, name: str, value: str, *, hosts: Sequence[str] | None = None) -> Call[bool]:
        """Stores a secret that headers can refer to, as in ``{"headers": {"authorization": {"secret": name}}}``.

        The secret is sent only to ``hosts``. Without ``hosts``, an existing secret keeps its hosts, and a new secret
        has none.
        """
        given = present({"value": value, "hosts": hosts})
        return Call("PUT", path("clients", client, "secrets", name), bool, "changed", body=given)

    @method
    def drop_secret(self, client: str, name: str) -> Call[bool]:
        """Deletes a secret. Later attempts that refer to the secret fail and are retried. Returns False if it did not
        exist."""
        return Call("DELETE", path("clients", client, "secrets", name), bool, "changed")

    @method
    def rotate_signing_secret(
        self, client: str, *, secret: str | None = None, keep_for: Length | None = None
    ) -> Call[str]:
        """Replaces the client's signing secret with ``secret``, or with a random one, and returns the new secret.

        The new secret is not shown again. Previous secrets stay valid for ``keep_for``, by default one day.
        """
        asked = body(present({"secret": secret, "keep_for": keep_for}))
        return Call("POST", path("clients", client, "signing-secret"), str, "secret", body=asked)

    @method
    def drop_signing_secret(self, client: str) -> Call[bool]:
        """Deletes a client's current and previous signing secrets, so that its callbacks are no longer signed. Returns
        False if it had none."""
        return Call("DELETE", path("clients", client, "signing-secret"), bool, "changed")
