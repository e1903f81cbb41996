"""Paths as they were sent, by which requests are routed, and HEAD.

A server hands on a path that is decoded, in which a / of a name and one between two names are the same. So the path is
read once more as it was sent: routes are found by its parts as they are quoted, and a route is given each name decoded.
HEAD is answered as GET is, without the body.
"""

from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

from litestar import Litestar


class Application(Litestar):
    """The application, which takes each part of a path as one name, whatever is in it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["path"] = quoted_path(scope)
            if scope["method"] == "HEAD":
                await self._answer_head(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    async def _answer_head(self, scope: Any, receive: Any, send: Any) -> None:
        """What goes on for ever is told that the caller has left once the head is sent."""
        inner, is_sent = scope | {"method": "GET"}, False

        async def listen() -> Any:
            return {"type": "http.disconnect"} if is_sent else await receive()

        async def send_head(message: Any) -> None:
            nonlocal is_sent
            if message["type"] == "http.response.start":
                scope["path_template"] = inner.get("path_template")
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                is_sent = True

        await super().__call__(inner, listen, send_head)


def quoted_path(scope: Any) -> str:
    """The path as it was sent, all that may be quoted quoted, and nothing else."""
    sent = scope["raw_path"].decode("ascii")
    return "/".join(quote(unquote_to_bytes(part), safe="") for part in sent.split("/"))


def names_of(path_params: dict[str, Any]) -> dict[str, Any]:
    """The parts of a path that stand for something, as they are meant. Raises ValueError for what is not UTF-8."""
    return {
        name: unquote(value, errors="strict") if isinstance(value, str) else value
        for name, value in path_params.items()
    }


def is_whole(scope: Any) -> bool:
    """Whether no part of the path is empty: where a name is left out, what follows it would be read as one."""
    return all(scope["raw_path"].split(b"/")[1:])


def allowed(methods: str) -> str:
    """The methods of a route, as Litestar lists them, and HEAD where there is GET."""
    found = methods.split(", ")
    return ", ".join([*found, "HEAD"] if "GET" in found and "HEAD" not in found else found)
