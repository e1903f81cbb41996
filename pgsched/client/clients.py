"""The methods of both SDK clients for the clients of pgsched: settings, holds and signing secrets."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from pgsched.answers import Page
from pgsched.client.methods import method, pages
from pgsched.client.requests import LARGEST, Call, Length, body, check_names, path, present
from pgsched.store.admin.clients import ClientRow
from pgsched.store.admin.secrets import SecretRow


class ClientChanges(TypedDict, total=False):
    """Named settings change; None sets the default. ``options`` are replaced as a whole."""

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
    """The methods of both SDK clients for clients."""

    @method
    def list_clients(self, *, limit: int = 50, after: str | None = None) -> Call[Page[ClientRow]]:
        """One page of those that something is set for, by name."""
        return Call("GET", path("clients"), Page[ClientRow], query={"limit": limit, "after": after})

    @pages
    def iter_clients(self) -> Call[Page[ClientRow]]:
        """All of them, page by page as they are asked for."""
        return Call("GET", path("clients"), Page[ClientRow], query={"limit": LARGEST})

    @method
    def get_client(self, client: str) -> Call[ClientRow]:
        """The settings of a client; its signing secrets by their last characters."""
        return Call("GET", path("clients", client), ClientRow)

    @method
    def set_client(self, client: str, **settings: Unpack[ClientChanges]) -> Call[ClientRow]:
        """Sets what is named."""
        check_names(settings, ClientChanges)
        return Call("PATCH", path("clients", client), ClientRow, body=body(settings))

    @method
    def drop_client(self, client: str) -> Call[bool]:
        """Forgets what is set for it; its jobs and executions stay."""
        return Call("DELETE", path("clients", client), bool, "changed")

    @method
    def hold_client(self, client: str, *, note: str | None = None) -> Call[bool]:
        """Begins nothing more of it until it is released; false if it was held before."""
        return Call("POST", path("clients", client, "hold"), bool, "changed", body={"note": note})

    @method
    def release_client(self, client: str, *, note: str | None = None) -> Call[bool]:
        """Ends the hold of a client; false if it was not held."""
        return Call("POST", path("clients", client, "release"), bool, "changed", body={"note": note})

    @method
    def list_secrets(self, client: str, *, limit: int = 50, after: str | None = None) -> Call[Page[SecretRow]]:
        """One page of its secrets, by name; nobody is shown what is in them."""
        return Call("GET", path("clients", client, "secrets"), Page[SecretRow], query={"limit": limit, "after": after})

    @pages
    def iter_secrets(self, client: str) -> Call[Page[SecretRow]]:
        """All of them, page by page as they are asked for."""
        return Call("GET", path("clients", client, "secrets"), Page[SecretRow], query={"limit": LARGEST})

    @method
    def put_secret(self, client: str, name: str, value: str) -> Call[bool]:
        """Keeps a secret that headers can name, as in ``{"headers": {"authorization": {"secret": name}}}``."""
        return Call("PUT", path("clients", client, "secrets", name), bool, "changed", body={"value": value})

    @method
    def drop_secret(self, client: str, name: str) -> Call[bool]:
        """Forgets a secret; false if there was none. Attempts that name it fail from then on, and are tried again."""
        return Call("DELETE", path("clients", client, "secrets", name), bool, "changed")

    @method
    def rotate_signing_secret(
        self, client: str, *, secret: str | None = None, keep_for: Length | None = None
    ) -> Call[str]:
        """Signs by a new secret, a random one where none is given; former ones stay valid for ``keep_for``, or a day.

        Returns the secret, which is not shown again.
        """
        asked = body(present({"secret": secret, "keep_for": keep_for}))
        return Call("POST", path("clients", client, "signing-secret"), str, "secret", body=asked)

    @method
    def drop_signing_secret(self, client: str) -> Call[bool]:
        """Signs a client's callbacks no more; the former secrets end too."""
        return Call("DELETE", path("clients", client, "signing-secret"), bool, "changed")
