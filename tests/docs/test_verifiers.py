"""The examples that verify signatures without a library, run in each language on callbacks as received."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pgsched.domain.execution_options import Options
from pgsched.domain.secret import parse_signing_secret
from tests.delivery.receiver import calling, execution, receiving
from tests.docs.fences import ROOT, blocks_of
from tests.node.running import node
from tests.programs.debian import debian_program
from tests.programs.go import go

_NEW = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
_FORMER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs="
_OTHER = "whsec_" + "A" * 32
_PAYLOAD = b'{"n": 1.50, "x": "\xc3\xbc"}'
Case = dict[str, Any]

_PYTHON = """
import json, sys
print(json.dumps([is_genuine(c["secret"], c["headers"], base64.b64decode(c["body"])) for c in json.load(sys.stdin)]))
"""
_TYPESCRIPT = """
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map((c) => isGenuine(c.secret, c.headers, Buffer.from(c.body, "base64")))));
"""
_GO = """package main

import (
	"encoding/json"
	"net/http"
	"os"
	"webhook"
)

func main() {
	var cases []struct {
		Secret  string
		Headers map[string]string
		Body    []byte
	}
	json.NewDecoder(os.Stdin).Decode(&cases)
	found := []bool{}
	for _, c := range cases {
		header := http.Header{}
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		found = append(found, webhook.IsGenuine(c.Secret, header, c.Body))
	}
	json.NewEncoder(os.Stdout).Encode(found)
}
"""
_PHP = """
$found = [];
foreach (json_decode(stream_get_contents(STDIN), true) as $c) {
    $found[] = is_genuine($c['secret'], $c['headers'], base64_decode($c['body']));
}
echo json_encode($found);
"""
_RUBY = """
require "json"
puts JSON.parse($stdin.read).map { |c| genuine?(c["secret"], c["headers"], c["body"].unpack1("m")) }.to_json
"""


def _example(language: str) -> str:
    """Returns the page's last block in this language."""
    page = ROOT / "docs" / "how-to" / "verify-signatures.md"
    return [block.text for block in blocks_of(page) if block.language == language][-1] + "\n"


def _python(place: Path, given: str) -> str:
    return _run([sys.executable, "-c", _example("python") + _PYTHON], given)


def _typescript(place: Path, given: str) -> str:
    script = place / "verify.ts"
    script.write_text(_example("ts") + _TYPESCRIPT)
    return node(str(script), input=given)


def _go(place: Path, given: str) -> str:
    package, program = place / "src" / "webhook", place / "src" / "program"
    for folder, text in ((package, _example("go")), (program, _GO)):
        folder.mkdir(parents=True)
        (folder / "main.go").write_text(text)
    go("build", "-o", str(place / "verify"), "program", cwd=program, GOPATH=str(place))
    return _run([str(place / "verify")], given)


def _php(place: Path, given: str) -> str:
    script = place / "verify.php"
    script.write_text(_example("php") + _PHP)
    return _run([str(debian_program("php8.4", "8.4")), "-n", str(script)], given)


def _ruby(place: Path, given: str) -> str:
    script = place / "verify.rb"
    script.write_text(_example("ruby") + _RUBY)
    program = debian_program("ruby3.3", "3.3")
    libraries = [*program.parent.glob("usr/lib/ruby/3.3.0"), *program.parent.glob("usr/lib/*/ruby/3.3.0")]
    return _run([str(program), "--disable-gems", str(script)], given, RUBYLIB=":".join(map(str, libraries)))


def _run(words: list[str], given: str, **environment: str) -> str:
    done = subprocess.run(
        words, input=given, capture_output=True, text=True, env=os.environ | environment, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def _cases() -> tuple[list[Case], list[bool]]:
    """Returns requests received during a secret rotation, altered copies of them, and whether each one is genuine."""
    secrets = [parse_signing_secret(_NEW), parse_signing_secret(_FORMER)]
    async with receiving() as receiver, calling(secrets=lambda _: secrets, now=lambda: int(time.time())) as channel:
        await channel.deliver(execution(receiver.url, payload=_PAYLOAD), Options(), 5)
    [request] = receiver.requests
    stale = {"webhook-timestamp": str(int(time.time()) - 3_600)}
    genuine: list[tuple[str, dict[str, str], bytes]] = [(_NEW, {}, _PAYLOAD), (_FORMER, {}, _PAYLOAD)]
    forged: list[tuple[str, dict[str, str], bytes]] = [(_OTHER, {}, _PAYLOAD), (_NEW, {}, _PAYLOAD + b" ")]
    changed = ({"webhook-id": "other"}, stale, {"webhook-timestamp": "soon"}, {"webhook-signature": "v1,AAAA ü"})
    forged += [(_NEW, headers, _PAYLOAD) for headers in changed]
    cases = [
        {"secret": secret, "headers": dict(request.headers) | headers, "body": base64.b64encode(body).decode()}
        for secret, headers, body in genuine + forged
    ]
    bare = {"secret": _NEW, "headers": {}, "body": ""}
    return [*cases, bare], [True] * len(genuine) + [False] * (len(forged) + 1)


@pytest.mark.parametrize("verify", [_python, _typescript, _go, _php, _ruby])
async def test_each_example_accepts_only_genuine_callbacks(verify: Callable[[Path, str], str], tmp_path: Path) -> None:
    cases, expected = await _cases()
    assert json.loads(verify(tmp_path, json.dumps(cases))) == expected
