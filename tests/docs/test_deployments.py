"""The files for Helm, Kubernetes and systemd are valid for those tools and for pgsched."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import pytest
from litestar import Litestar

from pgsched.api.app import create_app
from pgsched.cli.settings_sources import load
from pgsched.sealing import new_key
from pgsched.settings import Settings
from pgsched.version import __version__
from tests.docs.chart import CHART, MANIFESTS, kept, objects
from tests.docs.console import check
from tests.docs.fences import ROOT
from tests.node.running import HERE, install, module
from tests.programs.debian import debian_program

_UNITS = sorted((ROOT / "docker" / "systemd").glob("*.service"))
_EVERYTHING: dict[str, Any] = {
    "image": {"repository": "registry.example/pgsched", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "database": {"host": "db1.example, db2.example", "port": 5433, "name": "shop", "passwords": "logins"},
    "secretKeys": "pgsched-secret-keys",
    "settings": {"LEASE": "60", "LOG_LEVEL": "warning"},
    "api": {"allowedHosts": ["pgsched.example"], "podAnnotations": {"a": "b"}, "service": {"type": "NodePort"}},
    "workers": {
        "default": {"replicas": 3, "app": "shop.handlers:app", "image": "registry.example/shop:7"},
        "orders": {"replicas": 1, "queues": "orders,urgent", "processes": 2, "settings": {"LOG_LEVEL": "info"}},
    },
    "drainTimeout": 60,
    "nodeSelector": {"kind": "small"},
    "tolerations": [{"key": "small", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}  # fmt: skip
_TYPES = {
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "PodDisruptionBudget": "policy/v1",
    "Service": "core/v1",
}
_CASES = pytest.mark.parametrize("values", [{}, _EVERYTHING], ids=["default values", "every value set"])


@pytest.fixture(scope="module")
def api() -> Litestar:
    return create_app(Settings(database_url="postgresql://nobody@127.0.0.1:1/nothing"))


def _pods(values: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yields the specification of each pod with its only container."""
    for one in objects(values):
        if one["kind"] in ("Deployment", "Job"):
            pod = one["spec"]["template"]["spec"]
            [container] = pod["containers"]
            yield pod, container


def test_helm_lint_passes_and_the_chart_has_the_release_version() -> None:
    found = helm_python.lint(str(CHART), strict=True)
    assert [one["error"] for one in found["messages"]] == ["icon is recommended"]
    with helm_python.Chart.load(str(CHART)) as chart:
        assert chart.metadata["appVersion"] == chart.metadata["version"] == __version__


def test_the_checked_in_manifests_match_the_chart() -> None:
    assert MANIFESTS.read_text(encoding="utf-8") == kept(), "run python -m tests.docs.chart"


def test_the_manifests_match_the_kubernetes_api_types(tmp_path: Path) -> None:
    """TypeScript checks the manifests against types generated from the Kubernetes API, which reject unknown fields."""
    install()
    lines = [f'import type {{ {kind} }} from "kubernetes-types/{path}";' for kind, path in _TYPES.items()]
    everything = [*objects(), *objects(_EVERYTHING)]
    assert {one["kind"] for one in everything} == set(_TYPES)
    lines += [f"const object{n}: {one['kind']} = {json.dumps(one)};" for n, one in enumerate(everything)]
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    (tmp_path / "objects.ts").write_text("\n".join(lines))
    options = {"strict": True, "noEmit": True, "skipLibCheck": True, "types": []}
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": ["objects.ts"]}))
    module("typescript/bin/tsc", "-p", str(tmp_path))


@_CASES
def test_every_command_and_setting_in_the_chart_exists(values: dict[str, Any], api: Litestar) -> None:
    for _, container in _pods(values):
        check(["pgsched", *container["args"]], api)
        named = {one["name"]: one.get("value") or new_key() for one in container["env"]}
        assert load(flags={}, environment=named).database_url
        assert {name for name in named if not name.startswith("PGSCHED_")} <= {"PGPASSWORD", "POD_IP"}


@_CASES
def test_containers_have_only_the_privileges_they_need(values: dict[str, Any]) -> None:
    for pod, container in _pods(values):
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_each_selector_matches_exactly_one_deployment() -> None:
    labels = [
        one["spec"]["template"]["metadata"]["labels"] for one in objects(_EVERYTHING) if one["kind"] == "Deployment"
    ]
    for one in objects(_EVERYTHING):
        selector = one["spec"].get("selector", {})
        wanted = selector.get("matchLabels", selector)
        assert not wanted or sum(wanted.items() <= found.items() for found in labels) == 1


def test_chart_values_reach_the_containers() -> None:
    found = {one["metadata"]["name"]: one for one in objects(_EVERYTHING) if one["kind"] == "Deployment"}
    orders = found["pgsched-worker-orders"]["spec"]["template"]["spec"]
    env = {one["name"]: one.get("value") for one in orders["containers"][0]["env"]}
    assert env["PGSCHED_DATABASE_URL"] == (
        "postgresql://scheduler@db1.example:5433,db2.example:5433/shop?target_session_attrs=read-write"
    )
    assert (env["PGSCHED_QUEUES"], env["PGSCHED_LOG_LEVEL"], env["PGSCHED_LEASE"]) == (
        "orders,urgent",
        "info",
        "60",
    )
    assert orders["terminationGracePeriodSeconds"] == 70
    default = found["pgsched-worker-default"]["spec"]["template"]["spec"]["containers"][0]
    assert default["image"] == "registry.example/shop:7"
    assert {"name": "PGSCHED_APP", "value": "shop.handlers:app"} in default["env"]


@pytest.mark.parametrize(
    "values",
    [{"wrokers": {}}, {"workers": {"Orders": {}}}, {"database": {"host": ""}}, {"settings": {"historyDays": "1"}}],
    ids=str,
)
def test_invalid_chart_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(helm_python.HelmError):
        list(objects(values))


def test_systemd_accepts_the_units(tmp_path: Path, api: Litestar) -> None:
    program = tmp_path / "pgsched"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for unit in _UNITS:
        text = unit.read_text()
        [command] = [line.partition("=")[2].split() for line in text.splitlines() if line.startswith("ExecStart=")]
        assert command[0] == "/opt/pgsched/bin/pgsched"
        check(["pgsched", *command[1:]], api)
        (tmp_path / unit.name).write_text(text.replace(command[0], str(program)))
    units = [str(tmp_path / unit.name) for unit in _UNITS]
    analyze = debian_program("systemd-analyze", "252")
    done = subprocess.run([analyze, "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
