"""Each cell of the tables in docs/reference/schedules.md says what happens to its row in the column's situation."""

import pytest

from tests.store.schedule.cells.stage import Stage
from tests.store.schedule.cells.tables import PAGE, TABLES, cells_of

_CELLS = cells_of(PAGE.read_text(encoding="utf-8"))
_STORIES = [(name, row, column) for name, table in TABLES.items() for row in table.rows for column in table.stories]


def test_the_reference_pages_cells_match_the_tested_stories() -> None:
    assert sorted(_CELLS) == sorted(_STORIES)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("cell", _STORIES, ids=", ".join)
async def test_each_reference_page_cell_describes_the_actual_behavior(stage: Stage, cell: tuple[str, str, str]) -> None:
    name, row, column = cell
    table = TABLES[name]
    assert await table.stories[column](stage, table.rows[row]) == _CELLS[cell]
