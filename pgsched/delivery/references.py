"""The values of secrets, put where the options of an execution name them."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from pgsched.delivery.channel import FinalFailure
from pgsched.delivery.exchange import DeliveryFailed
from pgsched.domain.policy import Options
from pgsched.domain.secret import SecretRef

_IN_A_HEADER = re.compile(r"[!-~](?:[ \t!-~]{0,8191}[!-~])?")

GetSecret = Callable[[str, str], Awaitable[str]]
"""The value of a client's secret of this name; raises DeliveryFailed."""


async def no_secrets(client: str, name: str) -> str:
    """Where nobody keeps any."""
    raise DeliveryFailed(f"there is no secret {name}")


async def with_secrets(options: Options, client: str, get: GetSecret, deadline: float) -> Options:
    """The options with the client's own secrets in their headers. Raises DeliveryFailed where one cannot be had within
    ``deadline`` seconds, and FinalFailure for what no header can have; neither says what is in it."""
    try:
        async with asyncio.timeout(deadline):
            filled = [(name, await _text(name, given, client, get)) for name, given in options.headers]
    except TimeoutError:
        raise DeliveryFailed(f"the secrets in its headers could not be had within {deadline:g} s") from None
    return replace(options, headers=tuple(filled))


async def _text(header: str, given: str | SecretRef, client: str, get: GetSecret) -> str:
    if isinstance(given, str):
        return given
    text = given.prefix + (await get(client, given.name)).strip()
    if not _IN_A_HEADER.fullmatch(text):
        raise FinalFailure(
            f"the secret {given.name} cannot be in the header {header}: that is at most 8192 printable ASCII characters"
        )
    return text
