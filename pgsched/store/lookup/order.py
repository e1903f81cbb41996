"""The two orders in which a listing can be gone through: ids are made in the order of time."""

from enum import StrEnum
from typing import Any
from uuid import UUID

import sqlalchemy as sa

_Id = sa.ColumnElement[Any]


class SortOrder(StrEnum):
    """Which rows come first. What a page ends at is ``after`` for the next one, and ``reach`` for how far it looks."""

    NEWEST = "newest"
    OLDEST = "oldest"

    def beyond(self, id: _Id, after: UUID | None) -> list[sa.ColumnElement[bool]]:
        """Those that come after the one with this id."""
        if after is None:
            return []
        return [id < after if self is SortOrder.NEWEST else id > after]

    def within(self, id: _Id, reach: UUID | None) -> list[sa.ColumnElement[bool]]:
        """Those that come before the one with this id, and it."""
        if reach is None:
            return []
        return [id >= reach if self is SortOrder.NEWEST else id <= reach]

    def by(self, id: _Id) -> sa.UnaryExpression[Any]:
        return id.desc() if self is SortOrder.NEWEST else id.asc()

    def first(self, *ids: sa.ScalarSelect[Any]) -> sa.ColumnElement[Any]:
        """Which of them comes first; of nulls none does."""
        if len(ids) == 1:
            return ids[0]
        return sa.func.greatest(*ids) if self is SortOrder.NEWEST else sa.func.least(*ids)
