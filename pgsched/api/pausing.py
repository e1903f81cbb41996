"""Builds the routes that pause and resume a resource named in the path."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any, get_args

from litestar.handlers import HTTPRouteHandler

from pgsched.api.parameters import Actor, Noted, Pooled, note_in
from pgsched.api.routing import acts
from pgsched.store import verbs
from pgsched.store.verbs import PausedKind


def pausable(
    kind: PausedKind,
    path: str,
    named: Any,
    answer: type[Any],
    *refusals: int,
    pauses: str,
    resumes: str | None = None,
    suffix: str | None = None,
    **access: Any,
) -> tuple[HTTPRouteHandler, HTTPRouteHandler]:
    """Returns two routes, which pause and resume the resource at ``path``. ``named`` is the type of the last path
    parameter; the parameter's value becomes the first field of the response. ``pauses`` and ``resumes`` describe the
    routes. ``suffix`` is appended to the operations' names."""
    parameter, field, (of, described) = path.rpartition("{")[2][:-5], answer.__struct_fields__[0], get_args(named)

    def route(verb: Callable[..., Awaitable[bool]], title: str, says: str | None) -> HTTPRouteHandler:
        async def change(name: Any, database: Pooled, actor: Actor, data: Noted = None) -> Any:
            changed = await database.ask(verb, kind, str(name), note=note_in(data), actor=actor)
            return answer(**{field: name, "changed": changed})

        change.__annotations__ |= {"name": Annotated[of, replace(described, name=parameter)], "return": answer}
        change.__name__, change.__doc__ = title.lower() + (f"_{kind}" if suffix is None else suffix), says
        return acts(f"{path}/{title.lower()}", f"{title} a {kind}", *refusals, **access)(change)

    return route(verbs.pause, "Pause", pauses), route(verbs.resume, "Resume", resumes)
