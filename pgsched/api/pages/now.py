"""*Now*: due, running and late executions, by queue, client, worker and gate."""

from typing import Annotated, Any, Literal

from litestar import Response
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from litestar.response import Redirect

from pgsched.api.access import grant_of
from pgsched.api.cached import Cached
from pgsched.api.doctor import Examined
from pgsched.api.pages.charts import chart
from pgsched.api.pages.database import PAGES_OF_CHECKS
from pgsched.api.pages.gate_descriptions import holder_of
from pgsched.api.pages.now_snapshot import LATE, MOST_LETTERS, Live, LiveView
from pgsched.api.pages.rendering import HEADERS, html
from pgsched.api.pages.routing import shows
from pgsched.api.pages.throughput import SPANS, ThroughputCharts
from pgsched.api.request_reading import ApiRequest
from pgsched.domain.api_key import Grant

_KEPT, _MOST_FINDINGS = 25.0, 5
Charted = NamedDependency[ThroughputCharts]
Forecasted = NamedDependency[Cached[dict[str, Any]]]
Back = Annotated[Literal["1h", "6h", "24h"], QueryParameter(name="span")]


@shows("/", scope="read")
async def show_now(request: ApiRequest, live: Live, throughput: Charted, span: Back = "1h") -> Response[Any]:
    """Shows the page, which covers all clients. Redirects users who may see only some clients to their executions.
    Counting may take a moment, so the browser requests the forecast afterwards."""
    if grant_of(request).clients is not None:
        return Redirect("/executions", status_code=303, headers=HEADERS)
    past = await throughput.look(grant_of(request), span)
    return html(request, "now.html", past=past, spans=SPANS, **await _of(live, grant_of(request)))


@shows("/now", scope="read", everywhere=True)
async def show_now_alone(request: ApiRequest, live: Live) -> Response[Any]:
    """The part of the page that is refreshed every two seconds."""
    return html(request, "now_part.html", **await _of(live, grant_of(request)))


@shows("/now/past", scope="read", everywhere=True)
async def show_past(request: ApiRequest, throughput: Charted, span: Back = "1h") -> Response[Any]:
    """The part about the past hours, which is refreshed twice a minute."""
    return html(request, "throughput_part.html", past=await throughput.look(grant_of(request), span))


@shows("/now/coming", scope="read", everywhere=True)
async def show_coming(request: ApiRequest, forecast: Forecasted) -> Response[Any]:
    """The part about the coming hour, which is refreshed twice a minute."""
    return html(request, "forecast_part.html", coming=await forecast.get(grant_of(request)))


@shows("/now/findings", scope="admin", everywhere=True)
async def show_findings(request: ApiRequest, doctor: Examined) -> Response[Any]:
    """The doctor's findings, for administrators. While the checks run, the page keeps the previous findings."""
    report = await doctor.glance(grant_of(request), kept=_KEPT)
    if report is None:
        return Response("", media_type="text/html", headers=HEADERS | {"HX-Reswap": "none"})
    wrong = [finding for finding in report.findings if finding.severity != "note"]
    return html(request, "findings_part.html", findings=wrong, most=_MOST_FINDINGS, pages=PAGES_OF_CHECKS)


async def _of(live: LiveView, grant: Grant) -> dict[str, Any]:
    shown, moments, troubles = await live.look(grant)
    at = [moment.at for moment in moments]
    rates = [line.ended for line in shown.queues if line.ended is not None]
    return {
        "shown": shown,
        "letters": troubles.letters,
        "most_letters": MOST_LETTERS,
        "lost": troubles.lost,
        "due": sum(line.edge.due for line in shown.queues),
        "in_hand": sum(line.edge.in_hand for line in shown.queues),
        "cut": any(line.edge.cut for line in shown.queues),
        "late_after": LATE,
        "late": max((line.edge.oldest_due or 0.0 for line in shown.queues), default=0.0),
        "ended": sum(rates) if rates else None,
        "held": sum(line.held for line in shown.gates),
        "more_held": any(line.more for line in shown.gates),
        "failing": any(line.state == "failing" for line in shown.gates),
        "holders": [holder_of(line) for line in shown.gates],
        "charts": [
            chart(
                "Executions a second",
                "/s",
                at,
                scheduled=[moment.scheduled for moment in moments],
                ended=[moment.ended for moment in moments],
            ),
            chart("Oldest due", "s", at, late=[moment.late for moment in moments]),
        ],
    }
