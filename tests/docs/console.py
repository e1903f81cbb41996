"""Checks the commands of ``console`` blocks: a line that begins with ``$`` and its continuations is a command."""

import re
import shlex
from importlib import import_module
from urllib.parse import urlsplit

import click
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from pgsched.api.request_reading import read_body
from pgsched.cli.main import cli
from pgsched.cli.reply import Reply
from pgsched.cli.settings_sources import load
from tests.docs.fences import ROOT, Block

# Programs whose arguments are not checked here.
_FOREIGN = {
    "psql",
    "pg_dump",
    "pg_dumpall",
    "pg_restore",
    "pip",
    "pytest",
    "python",
    "python3",
    "docker",
    "kubectl",
    "kill",
    "git",
    "crontab",
    "cp",
    "useradd",
    "gcloud",
    "helm",
    "systemctl",
    "systemd-analyze",
    "alembic",
    "export",
    "cd",
    ".",
}
_SEPARATORS = {"|", "&&", ";", "||"}


def commands_of(block: Block) -> list[list[str]]:
    """Returns the simple commands of a block as lists of words. Operators on a line separate them, and redirections are
    left out."""
    text = re.sub(r"\\\n\s*", " ", block.text)
    lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    assert lines, f"{block}: there is no command: begin it with $"
    found: list[list[str]] = []
    for line in lines:
        found.append([])
        words = iter(shlex.split(line, comments=True))
        for word in words:
            if word in ("<", ">"):
                next(words)
            elif word in _SEPARATORS:
                found.append([])
            else:
                found[-1].append(word)
    return [command for command in found if command]


def check(command: list[str], api: Litestar) -> None:
    """Raises AssertionError, or the command's own error, unless the command could be typed exactly so."""
    words = list(command)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        _check_variable(words.pop(0))
    if not words:
        return
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program == "pgsched":
        _check_pgsched(arguments)
    elif program == "curl":
        _check_curl(arguments, api)
    elif words[1:2] == ["-m"] and words[2].startswith("tests.benchmarks."):
        _check_benchmark(words[2], words[3:])
    elif program == "make":
        _check_make(arguments)
    else:
        assert program in _FOREIGN, f"unknown program {program!r}"
        for word in arguments:
            if program == "export":
                _check_variable(word)


def _check_variable(assignment: str) -> None:
    name, _, value = assignment.partition("=")
    if name.startswith("PGSCHED_"):
        load(flags={}, environment={name: value})


def _check_pgsched(arguments: list[str]) -> None:
    context = click.Context(cli, info_name="pgsched", obj=Reply(as_json=False))
    command: click.Command = cli
    while isinstance(command, click.Group):
        if arguments[:1] in (["--help"], ["--version"]):
            return
        name, found, arguments = command.resolve_command(context, arguments)
        assert found is not None, f"there is no command {name!r}"
        context, command = click.Context(found, info_name=name, parent=context), found
    if "--help" not in arguments:
        command.make_context(context.info_name, list(arguments), parent=context.parent)


def _check_benchmark(module: str, arguments: list[str]) -> None:
    """Checks a benchmark that is a command."""
    name = module.rpartition(".")[2]
    command = getattr(import_module(module), name, None)
    assert command or module == "tests.benchmarks.paired_drain", f"there is no benchmark {name!r}"
    if command:
        command.make_context(name, list(arguments))


def _check_make(arguments: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z][a-z0-9-]*):", makefile, re.MULTILINE)
    for word in arguments:
        assert word in targets or "=" in word, f"the Makefile has no target {word!r}"


def _check_curl(arguments: list[str], api: Litestar) -> None:
    method, body, url, headers = None, None, None, list[str]()
    words = iter(arguments)
    for word in words:
        match word:
            case "-X" | "--request":
                method = next(words)
            case "-d" | "--data" | "--json":
                body = next(words)
                headers += ["content-type: application/json"] if word == "--json" else []
            case "-T" | "--upload-file":
                next(words)
            case "-H" | "--header":
                headers.append(next(words).lower())
            case _ if word.startswith("-"):
                assert re.fullmatch(r"-[sSfiNv]+", word), f"unknown curl flag {word!r}"
            case _:
                url = word
    assert url is not None, "curl has no URL"
    assert body is None or "content-type: application/json" in headers, "a body needs Content-Type: application/json"
    _check_request(method or ("POST" if body else "GET"), url, body, api)


def _check_request(method: str, url: str, body: str | None, api: Litestar) -> None:
    """Asserts that the path is in the OpenAPI document and that its route accepts the body."""
    path = urlsplit(url).path.rstrip("/")
    documented = [str(known).rstrip("/") for known in api.openapi_schema.paths or {}]
    if path.startswith("/schema"):
        return
    assert any(_matches(known, path) for known in documented), f"{path} is not in the OpenAPI document"
    handlers = [handler for known, handler in _routes(api, method) if _matches(known, path)]
    assert handlers, f"{path} does not accept {method}"
    field = handlers[0].parsed_data_field
    if body is not None:
        assert field is not None, f"{method} {path} accepts no body"
        read_body(body.encode(), field.annotation)


def _routes(api: Litestar, method: str) -> list[tuple[str, HTTPRouteHandler]]:
    return [
        (route.path_format, handler)
        for route in api.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        if method in handler.http_methods
    ]


def _matches(template: str, path: str) -> bool:
    wanted = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(template.rstrip("/")))
    return re.fullmatch(wanted, path) is not None
