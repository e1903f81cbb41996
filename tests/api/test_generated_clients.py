"""Clients generated from the OpenAPI document: generate, compile and use them."""

import importlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from pgsched.settings import Settings
from tests.api.access_arrange import make_key
from tests.conftest import Connection
from tests.databases import Databases
from tests.docs.fences import ROOT, blocks_of
from tests.node.running import HERE, module, node
from tests.processes import Process, serving_alone
from tests.programs.go import go

_OURS = {"X-Requested-With": "tests"}
_HOW_TO = ROOT / "docs" / "how-to" / "other-languages.md"


@pytest.fixture
def address(served: tuple[str, Process]) -> str:
    return served[0]


@pytest.fixture(scope="module")
def document(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("described") / "openapi.json"
    with databases.lent() as url, serving_alone(Settings(database_url=url, port=0)) as (address, _):
        found.write_bytes(httpx.get(f"{address}/schema/openapi.json").content)
    return found


@pytest.fixture
def workshop() -> Iterator[Path]:
    """A directory in which Node.js finds its packages and runs TypeScript."""
    with tempfile.TemporaryDirectory(prefix="made-", dir=HERE) as made:
        for name in ("client.ts", "tsconfig.json"):
            copy(HERE / name, made)
        Path(made, "package.json").write_text('{"type": "module"}')
        [shop] = [block.text for block in blocks_of(_HOW_TO) if block.language == "ts"]
        Path(made, "shop.ts").write_text(f"declare const process: {{ env: Record<string, string> }};\n{shop}\n")
        yield Path(made)


def test_the_generated_typescript_client_compiles_and_works(
    address: str, document: Path, workshop: Path, db: Connection
) -> None:
    key = str(make_key(db))
    module("openapi-typescript/bin/cli.js", str(document), "-o", str(workshop / "generated.ts"))
    copy(workshop / "generated.ts", workshop / "pgsched.ts")
    module("typescript/bin/tsc", "-p", str(workshop))
    assert json.loads(node(str(workshop / "client.ts"), address, key)) == {
        "created": [201, "created", True],
        "again": [200, "replaced"],
        "paused": True,
        "resumed": True,
        "labels": {"team": "reports"},
        "triggered": True,
        "counted": [200, 2],
        "listed": ["report"],
        "cancelled": True,
        "unknown": [404, "pgsched.not_found"],
        "of_the_page": {"scheduled": ["remind-42", "scheduled"], "cancelled": True},
    }


@pytest.fixture(scope="module")
def generated(document: Path) -> Iterator[Any]:
    """The client that openapi-python-client generates."""
    package = "made_client"
    place = document.parent
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(document), "--meta", "none"]
    config = place / "generator.json"
    config.write_text(
        '{"post_hooks": [], "content_type_overrides": {"application/x-ndjson": "application/octet-stream"}}'
    )
    given = [*command, "--config", str(config), "--fail-on-warning", "--output-path", str(place / package)]
    done = subprocess.run(given, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = ("create", "pause", "resume", "trigger", "get_job", "cancel_job", "create_queue", "claim", "complete")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(place))
        yield SimpleNamespace(
            Client=importlib.import_module(f"{package}.client").Client,
            models=importlib.import_module(f"{package}.models"),
            **{name: importlib.import_module(f"{package}.api.default.{name}").sync_detailed for name in calls},
        )
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def test_the_generated_python_client_schedules_and_controls_jobs(address: str, generated: Any) -> None:
    models = generated.models
    with generated.Client(base_url=address, headers=_OURS) as client:
        job = models.CreateJob(target="notify:report", key="report", schedule=models.Timing(every="PT1H"))
        scheduled = generated.create(client=client, body=job)
        assert (int(scheduled.status_code), scheduled.parsed.outcome) == (201, "created")
        assert int(generated.create(client=client, body=job).status_code) == 200
        id = scheduled.parsed.id
        assert generated.pause(id, client=client).parsed.changed is True
        assert generated.get_job(id, client=client).parsed.state == "paused"
        assert generated.resume(id, client=client, body=models.Note(note="again")).parsed.changed is True
        assert generated.trigger(id, client=client).parsed.job_id == id
        assert generated.cancel_job(id, client=client).parsed.changed is True
        unknown = models.CreateJob(target="notify:a", after=["nothing"])
        assert generated.create(client=client, body=unknown).parsed.code == "pgsched.not_found"


def test_the_generated_python_client_pulls_messages(address: str, generated: Any) -> None:
    models = generated.models
    with generated.Client(base_url=address, headers=_OURS) as client:
        generated.create_queue(client=client, body=models.NewQueue(name="orders", pulled=True))
        generated.create(client=client, body=models.CreateJob(target="queue:", queue="orders", payload={"n": 1}))
        [held] = generated.claim("orders", client=client, body=models.ClaimMessages(worker="svc-1")).parsed.items
        assert held.payload == {"n": 1}
        ended = generated.complete(held.id, client=client, body=models.CompleteMessage(token=held.token))
        assert ended.parsed.status == "succeeded"


_GO_KINDS = {"string": "string", "bool": "boolean"}
_GO_MAIN = """
func main() {
	id, err := RemindTomorrow(42)
	if err != nil {
		panic(err)
	}
	cancelled, err := Cancel(id)
	if err != nil {
		panic(err)
	}
	_, err = Cancel("0192f0c1-7e3a-7b54-8000-0123456789ab")
	fmt.Println(cancelled, err)
}
"""


def _kinds(schema: dict[str, Any]) -> set[str]:
    return {str(one.get("type")) for one in schema.get("oneOf", [schema])}


def test_the_guides_go_client_compiles_and_works(address: str, document: Path, db: Connection, tmp_path: Path) -> None:
    """Checks the types, fields and routes of the Go code in the guide, and compiles and runs it."""
    [page] = [block.text for block in blocks_of(_HOW_TO) if block.language == "go"]
    described = json.loads(document.read_bytes())
    schemas = described["components"]["schemas"]
    for name, body in re.findall(r"^type (\w+) struct {\n(.*?)^}", page, re.MULTILINE | re.DOTALL):
        for kind, field in re.findall(r"^\t\w+ +(\w+) +`json:\"(\w+)", body, re.MULTILINE):
            found = schemas[name]["properties"][field]
            assert kind == "any" or kind in found.get("$ref", "") or _GO_KINDS[kind] in _kinds(found), (name, field)
    for method, path in re.findall(r'call\("(\w+)", "([^"]+)"', page):
        route = path + "{job_id}" if path.endswith("/") else path
        assert method.lower() in described["paths"][route]
    (tmp_path / "shop.go").write_text(page + _GO_MAIN)
    done = go("run", "shop.go", cwd=tmp_path, PGSCHED_API=address, PGSCHED_API_KEY=str(make_key(db)))
    assert done.startswith("true pgsched.not_found: ")
