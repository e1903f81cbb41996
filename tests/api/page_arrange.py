"""A browser of somebody who has signed in."""

import httpx

from pgsched.api.pages.session import COOKIE

OWN = {"Origin": "http://localhost"}
"""What a browser says of a form of the dashboard's own."""


def signed_in(client: httpx.AsyncClient, key: object) -> None:
    client.cookies.set(COOKIE, str(key))
