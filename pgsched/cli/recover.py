"""``pgsched recover``: what a restored or copied database would fire, and the end of its hold."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import click

from pgsched.cli.answers import Answer, cells
from pgsched.cli.commands import command
from pgsched.cli.options import actor_option, options
from pgsched.cli.parameters import duration
from pgsched.cli.reply import table
from pgsched.errors import InvalidInput
from pgsched.settings import Settings
from pgsched.store.admin import clients, installation, recovery
from pgsched.store.core.transactions import Lend, lending
from pgsched.store.ends import bulk_changes, bulk_chunks
from pgsched.store.ends.bulk_changes import How
from pgsched.store.lookup.rows import ExecutionFilter

_BY_CLIENT = ("client", "queue", "executions", "in_hand", "of_jobs", "an_hour_late", "a_day_late", "oldest")
_SAMPLE = ("id", "client", "target", "key", "scheduled_for")
_CALLS = ("called", "executions")
_UNDONE = ("scheduled", "retrying", "running")
_CANCELLED_A_SECOND, _MOMENT = 100_000, 0.05


@command(with_settings=True)
@options(
    click.option("--release", is_flag=True, help="Let workers go on, after what the next three options say."),
    click.option("--skip-older-than", type=duration, metavar="DURATION", help="Cancel what was due before that long."),
    click.option("--rate", type=click.FloatRange(0.001, 100_000), metavar="NUMBER", help="Fire what is due no faster."),
    click.option("--hold-client", "held", multiple=True, metavar="NAME", help="Keep holding this client; repeatable."),
    click.option("--hold", is_flag=True, help="Hold the installation: nothing begins until it is released."),
    click.option("--note", metavar="TEXT", help="Why; it is shown as the reason, and logged."),
    actor_option,
)
async def recover(connection: Any, settings: Settings, hold: bool, release: bool, **given: Any) -> Answer:
    """Show what a restored or copied database would fire, and let it go on.

    Without --release or --hold it changes nothing but to hold an installation whose workers were last on another
    server. With --release it holds, does what the options say, and then lets the workers go on.
    """
    await installation.check_in(connection)
    said = {"note": given.pop("note"), "actor": given.pop("actor")}
    policy = Policy(**given, **said)
    if not release and policy != Policy(**said):
        raise InvalidInput("--skip-older-than, --rate and --hold-client say how to release: add --release")
    if hold and release:
        raise InvalidInput("hold it, or release it: not both")
    found = await recovery.preview(connection)
    if hold or release:
        await installation.hold(connection, **said)
    state = await installation.get_installation(connection)
    answer = {"held_since": state.held_since, "reason": state.reason, **asdict(found)}
    if not release:
        return Answer({**answer, "released": False}, _text(state, found), _NEXT if state.held_since else None)
    await connection.commit()
    async with lending(settings.database_url or "") as lend:
        done = await policy.carry_out(lend)
    return Answer({**answer, "released": True, **done}, _released(**done))


_NEXT = (
    "nothing begins until it is released: pgsched recover --release, with --skip-older-than, --rate or --hold-client"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is done before workers go on."""

    skip_older_than: timedelta | None = None
    rate: float | None = None
    held: Sequence[str] = ()
    note: str | None = None
    actor: str | None = None

    async def carry_out(self, lend: Lend) -> dict[str, int]:
        """Each step in a transaction of its own, so that it can be ended at any moment and begun again."""
        for client in self.held:
            async with lend() as connection:
                await clients.hold_client(connection, client, note=self.note, actor=self.actor)
        skipped = await self._skip(lend)
        spread = await self._spread(lend)
        async with lend() as connection:
            await installation.release(connection, note=self.note, actor=self.actor)
        return {"skipped": skipped, "spread": spread}

    async def _skip(self, lend: Lend) -> int:
        if self.skip_older_than is None:
            return 0
        async with lend() as connection:
            before = await recovery.now(connection) - self.skip_older_than
            wanted = ExecutionFilter(statuses=_UNDONE, end=before)
            note = self.note or f"skipped by pgsched recover: due before {before:%Y-%m-%dT%H:%M:%SZ}"
            how = How(rate=_CANCELLED_A_SECOND, note=note, actor=self.actor)
            asked = await bulk_changes.cancel_many(connection, wanted, how)
        assert asked.id is not None
        while True:
            async with lend() as connection:
                found = await bulk_changes.get_bulk_change(connection, asked.id)
                chunk = await bulk_chunks.advance(connection, asked.id)
            if found.state != "active":
                return found.changed
            if not chunk.more:
                await asyncio.sleep(_MOMENT)

    async def _spread(self, lend: Lend) -> int:
        if self.rate is None:
            return 0
        async with lend() as connection:
            spreading = await recovery.Spreading.of(connection, self.rate)
        more = True
        while more:
            async with lend() as connection:
                more = await spreading.step(connection)
        return spreading.moved


def _text(state: installation.Installation, found: recovery.Preview) -> str:
    held = f"held since {state.held_since:%Y-%m-%d %H:%M:%SZ}: {state.reason}" if state.held_since else "not held"
    parts = [held]
    for title, columns, lines in (
        ("fires at once", _BY_CLIENT, found.overdue),
        ("due the longest", _SAMPLE, found.oldest),
        ("called now or within a day", _CALLS, found.calls),
    ):
        parts.append(f"{title}:\n{table(columns, cells(columns, lines))}" if lines else f"{title}: nothing")
    return "\n\n".join(parts)


def _released(*, skipped: int, spread: int) -> str:
    return f"released; {skipped:,} skipped, {spread:,} put off to fire at the rate"
