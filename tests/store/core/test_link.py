"""A role's connection, which is made anew after it broke."""

import pytest

from pgsched.store.core.connect import Connection, Link


class _Heard:
    def __init__(self, *, fails: int = 0) -> None:
        self.greeted, self._fails = 0, fails
        self.warmed = list[bool]()

    async def greet(self, _: Connection) -> None:
        self.greeted += 1

    async def warm(self, connection: Connection, first: bool) -> None:
        if self._fails:
            self._fails -= 1
            raise ConnectionError("gone while it was warmed")
        await connection.execute("select 1")
        self.warmed.append(first)


async def test_each_connection_is_greeted_and_warmed_and_the_first_is_known_as_such(database_url: str) -> None:
    heard = _Heard()
    link = Link(database_url, "test", greet=heard.greet, warm=heard.warm)
    first = await link.get()
    assert await link.get() is first
    await first.close()
    assert await link.get() is not first
    assert (heard.greeted, heard.warmed) == (2, [True, False])
    await link.drop()


async def test_one_that_could_not_be_warmed_is_nobodys_and_the_next_is_the_first(database_url: str) -> None:
    heard = _Heard(fails=1)
    link = Link(database_url, "test", greet=heard.greet, warm=heard.warm)
    with pytest.raises(ConnectionError):
        await link.get()
    await link.get()
    assert (heard.greeted, heard.warmed) == (2, [True])
    await link.drop()
