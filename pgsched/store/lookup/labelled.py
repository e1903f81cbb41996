"""The condition that a row has all labels of a filter."""

from collections.abc import Mapping
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql


def labelled(column: sa.ColumnElement[Any], wanted: Mapping[str, str] | Any) -> list[sa.ColumnElement[bool]]:
    """``wanted`` are the labels, or the parameter that stands for their JSON text. That there are any is said apart,
    for the indexes that have such rows alone: no role that row-level security holds may have JSON compared in one."""
    text = sa.literal(json_of(wanted), sa.String()) if isinstance(wanted, Mapping) else wanted
    return [column.is_not(None), column.op("@>", is_comparison=True)(sa.cast(text, postgresql.JSONB))]


def json_of(labels: Mapping[str, str]) -> str:
    return orjson.dumps(dict(labels)).decode()
