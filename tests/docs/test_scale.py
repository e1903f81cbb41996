"""The scale page's figures follow from the page's own parameters."""

import re
from collections.abc import Iterator
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.docs.scale import Costs, Load, Machines, installation, limits

_PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "scale.md"
_DAY = 86_400


def _tables() -> Iterator[list[list[str]]]:
    """Yields the cells of each table's rows, without the header and the line under it."""
    for table in re.findall(r"(?:^\|.*\n)+", _PAGE.read_text(encoding="utf-8"), re.MULTILINE):
        yield [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def _table(first: str) -> list[list[str]]:
    """Returns the table whose first cell begins with ``first``."""
    return next(rows for rows in _tables() if rows[0][0].startswith(first))


def _numbers(first: str, kind: type) -> Any:
    """Parses a table whose rows begin with field names."""
    named = {row[0].strip("`"): _number(row[1]) for row in _table(first)}
    assert list(named) == [field.name for field in fields(kind)]
    return kind(**named)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _costs() -> Costs:
    return cast(Costs, _numbers("`schedule_batch_us`", Costs))


def _machines() -> Machines:
    return cast(Machines, _numbers("`utilisation`", Machines))


def _load(name: str, scheduled: str, delivered: str) -> Load:
    """``10,000/s`` is a constant rate; ``2,000,000,000 a day, peak 3`` has a mean and a peak."""
    kinds: dict[str, Any] = {"scheduled": scheduled, "delivered": delivered}
    if name.endswith("/s"):
        return Load(mean=_number(name.removesuffix("/s")), peak=1, **kinds)
    count, _, peak = name.partition(" a day, peak ")
    return Load(mean=_number(count) / _DAY, peak=_number(peak), **kinds)


_ONE = Load(mean=10_000, peak=1, scheduled="in batches", delivered="handlers")


@pytest.mark.parametrize("row", _table("10,000/s"), ids=lambda row: "; ".join(row[:3]))
def test_sizes_on_the_scale_page_follow_from_its_parameters(row: list[str]) -> None:
    found = installation(_load(*row[:3]), _costs(), _machines())
    assert row[3:] == [
        f"{found.rate:,.0f}",
        f"{found.server_cores:.1f}",
        f"{found.statements:,.0f}",
        f"{found.wal_mb:.1f}",
        str(found.worker_processes),
        str(found.partitions),
        f"{found.history_gb_a_day:,.0f}",
        str(found.servers),
        str(found.worker_machines),
    ]


@pytest.mark.parametrize("row", _table("in batches"), ids=lambda row: "; ".join(row[:2]))
def test_limits_on_the_scale_page_follow_from_its_parameters(row: list[str]) -> None:
    found = limits(_load("1/s", *row[:2]), _costs(), _machines())
    assert row[2:] == [f"{round(rate, -3):,.0f}" for rate in astuple(found)]


def test_a_server_is_added_exactly_when_its_cores_are_exceeded() -> None:
    costs, machines = _costs(), replace(_machines(), server_wal_mb=1e9)
    stop = limits(_ONE, costs, machines).server_cores
    assert installation(replace(_ONE, mean=stop * 0.999), costs, machines).servers == 1
    assert installation(replace(_ONE, mean=stop * 1.001), costs, machines).servers == 2


def test_servers_are_added_when_the_wal_rate_is_the_limit() -> None:
    costs, machines = _costs(), replace(_machines(), server_cores=10_000)
    stop = limits(_ONE, costs, machines).server_wal
    assert installation(replace(_ONE, mean=stop * 2.5), costs, machines).servers == 3


def test_each_process_has_a_partition_and_each_server_has_two_processes() -> None:
    found = installation(replace(_ONE, mean=3_000_000), _costs(), _machines())
    assert found.worker_processes >= 2 * found.servers
    assert found.partitions >= found.worker_processes
    assert found.partitions % (16 * found.servers) == 0


def test_peak_load_determines_cores_and_mean_load_determines_history() -> None:
    costs, machines = _costs(), _machines()
    flat, peaked = installation(_ONE, costs, machines), installation(replace(_ONE, peak=4), costs, machines)
    assert peaked.server_cores == pytest.approx(4 * flat.server_cores)
    assert peaked.history_gb_a_day == flat.history_gb_a_day


def test_the_sizing_page_has_the_same_figures_as_the_model() -> None:
    page = _PAGE.parents[1] / "how-to" / "sizing.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if re.match(r"\| [\d,]+ \|", line)]
    assert len(rows) == 4
    for row in rows:
        rate, single, batched, processes, history = map(_number, row.strip("| ").split("|"))
        ways: tuple[Any, Any] = ("one by one", "in batches")
        loads = [Load(mean=rate, peak=1, scheduled=way, delivered="callbacks") for way in ways]
        alone, together = (installation(load, _costs(), _machines()) for load in loads)
        assert (single, batched) == (round(alone.server_cores, 2), round(together.server_cores, 2))
        assert (processes, history) == (alone.worker_processes, round(alone.history_gb_a_day))
