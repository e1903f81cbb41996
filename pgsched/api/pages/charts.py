"""Line and bar charts as SVG, drawn by the server."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 120
_SHORTEST = 60.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """One line of a chart: its points in SVG format, and its last value (None if there are no values yet)."""

    name: str
    points: str
    last: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines on one scale, whose top is ``most``. The right edge is now; the left edge is ``span`` seconds earlier."""

    title: str
    unit: str
    most: float
    span: float
    lines: Sequence[ChartLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar, in SVG coordinates."""

    x: float
    y: float
    width: float
    height: float
    is_hot: bool


def bars(values: Sequence[int], *, above: int | None) -> list[Bar]:
    """Draws a bar for each value, on one scale. Bars with values over ``above`` are hot."""
    most, width = _rounded_up(max(values, default=0)), WIDTH / max(len(values), 1)
    return [
        Bar(
            x=round(place * width, 1),
            y=round(HEIGHT - value / most * HEIGHT, 1),
            width=round(width * 0.8, 1),
            height=round(value / most * HEIGHT, 1),
            is_hot=above is not None and value > above,
        )
        for place, value in enumerate(values)
    ]


def chart(title: str, unit: str, at: Sequence[float], **series: Sequence[float | None]) -> Chart:
    """Draws several series over the moments ``at``, the last of which is now. A value of None gets no point."""
    most = _rounded_up(max((value or 0.0 for values in series.values() for value in values), default=0.0))
    span = max(at[-1] - at[0], _SHORTEST) if at else _SHORTEST
    lines = [
        ChartLine(name=name, points=_points(at, values, most, span), last=values[-1] if values else None)
        for name, values in series.items()
    ]
    return Chart(title=title, unit=unit, most=most, span=span, lines=lines)


def _points(at: Sequence[float], values: Sequence[float | None], most: float, span: float) -> str:
    pairs = zip(at, values, strict=True)
    return " ".join(
        f"{WIDTH - (at[-1] - moment) * WIDTH / span:.1f},{HEIGHT - value / most * HEIGHT:.1f}"
        for moment, value in pairs
        if value is not None
    )


def _rounded_up(value: float) -> float:
    """Rounds up to 1, 2 or 5 times a power of ten."""
    top = 1.0
    while top < value:
        for step in (2.0, 2.5, 2.0):
            top *= step
            if top >= value:
                break
    return top
