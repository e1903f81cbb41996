"""A frame of ``pgsched top``: plain tables that fit a terminal of 80 columns, the most urgent first."""

from collections.abc import Collection, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from pgsched.cli.top_view import HELP, View
from pgsched.events import printable
from pgsched.passwords import without_passwords
from pgsched.store.lookup.now import Edge, Now
from pgsched.store.lookup.now_lines import Shown

_LATE = 1.0  # seconds: from here on it is worth a colour
_HEADING = 3  # lines of a table's title, its columns and the blank line behind it


def frame(now: Now, shown: Shown, view: View, *, room: int, fault: str | None = None) -> Group:
    """All of it in so many lines: where there are more, each table has its share and says how many it leaves out. On a
    terminal, where ``fault`` is the empty text or says why the look is an old one, the last line has the keys."""
    wanted = [len(shown.queues), len(shown.workers), len(shown.clients), len(shown.gates)]
    given = share(wanted, room - 3 - _HEADING * sum(1 for count in wanted if count))
    parts: list[Text | Table] = [_summary(now, view)]
    parts += _part(_queues(shown, given[0]), len(shown.queues), given[0])
    parts += _part(_workers(shown, given[1]), len(shown.workers), given[1])
    parts += _part(_clients(shown, given[2]), len(shown.clients), given[2])
    parts += _part(_gates(shown, given[3]), len(shown.gates), given[3])
    if fault is not None:
        parts.append(_fault(fault) if fault else _footer(view))
    return Group(*parts)


def waiting(fault: str) -> Text:
    """The frame before the first look."""
    return _fault(fault) if fault else Text("…")


def _fault(fault: str) -> Text:
    return Text(
        f"it cannot be looked at now: {printable(without_passwords(fault))}", style="bold red", overflow="ellipsis"
    )


def share(wanted: Sequence[int], room: int) -> list[int]:
    """The lines that each table has: what it wants where that fits; otherwise none gets more than is left for all."""
    given = [0] * len(wanted)
    while room > 0 and (hungry := [place for place, count in enumerate(wanted) if given[place] < count]):
        for place in hungry[:room]:
            given[place] += 1
        room -= min(room, len(hungry))
    return given


def _part(table: Table, there: int, given: int) -> list[Text | Table]:
    if not there:
        return []
    left_out = f"  … and {there - given} more" if there > given else ""
    return [table, Text(left_out, style="dim")]


def _summary(now: Now, view: View) -> Text:
    queues = [edge for edge in now.edges if edge.queue is not None]
    more = "+" if any(edge.cut for edge in queues) else ""
    oldest = max((edge.oldest_due or 0.0 for edge in queues), default=0.0)
    text = Text("pgsched  ", style="bold")
    text.append(
        f"{sum(edge.due for edge in queues):,}{more} due  {sum(edge.in_hand for edge in queues):,}{more} in hand  "
    )
    text.append(f"{_ago(oldest)} late  " if oldest else "nothing late  ", style=_style(oldest))
    text.append(
        f"{len(now.workers)} worker{'s' if len(now.workers) != 1 else ''}", style="" if now.workers else "bold red"
    )
    if view.paused:
        text.append("  paused", style="reverse")
    return text


def _queues(shown: Shown, given: int) -> Table:
    table = _table("queue", "due", "in hand", "late", "new/s", "ended/s", "")
    for line in shown.queues[:given]:
        table.add_row(
            *_named(line.name, line.edge), _rate(line.scheduled), _rate(line.ended), Text(line.stall or "", "red")
        )
    return table


def _workers(shown: Shown, given: int) -> Table:
    table = _table("worker", "id", "in hand", "at once", "longest", "queues", left={"queues"})
    for line in shown.workers[:given]:
        worker, edge = line.worker, line.edge
        longest = _ago(edge.oldest_in_hand) if edge.in_hand else ""
        table.add_row(
            _name(worker.name),
            str(worker.id),
            _count(edge.in_hand, edge.cut),
            f"{worker.concurrency:,}",
            longest,
            _name(",".join(worker.queues)),
        )
    return table


def _clients(shown: Shown, given: int) -> Table:
    table = _table("client", "due", "in hand", "late")
    for edge in shown.clients[:given]:
        table.add_row(*_named(edge.client or "", edge))
    return table


def _gates(shown: Shown, given: int) -> Table:
    table = _table("held back by", "held", "", wide=True)
    for line in shown.gates[:given]:
        held = _count(line.held, line.more)
        table.add_row(_name(line.name), held, Text(line.state or "", "red" if line.state == "failing" else ""))
    return table


def _table(name: str, *columns: str, left: Collection[str] = (), wide: bool = False) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=60 if wide else 30, min_width=12)
    for column in columns:
        is_text = column in left or not column
        table.add_column(column, justify="left" if is_text else "right", no_wrap=True, overflow="ellipsis")
    return table


def _named(name: str, edge: Edge) -> tuple[Text, str, str, Text]:
    late = edge.oldest_due or 0.0
    return (
        _name(name),
        _count(edge.due, edge.cut),
        _count(edge.in_hand, edge.cut),
        Text(_ago(late) if late else "", _style(late)),
    )


def _footer(view: View) -> Text:
    if view.typing:
        return Text(f"/{printable(view.filter)}_", style="bold")
    only = f", only {printable(view.filter)!r}" if view.filter else ""
    return Text(f"{HELP}   by {view.sort}{only}", style="dim")


def _name(text: str) -> Text:
    return Text(printable(text))


def _count(number: int, is_cut: bool) -> str:
    return f"{number:,}{'+' if is_cut else ''}" if number else "0"


def _rate(number: float | None) -> str:
    return "" if number is None else f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _ago(seconds: float | None) -> str:
    if seconds is None or seconds < 0:
        return "0 s"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.1f} s"


def _style(late: float) -> str:
    return "red" if late >= 60 * _LATE else "yellow" if late >= _LATE else ""
