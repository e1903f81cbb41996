"""Prometheus rules and Grafana panels use existing metrics in valid expressions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from pgsched.metrics import catalogue
from tests.docs.fences import ROOT
from tests.node.running import run
from tests.programs.prometheus import promtool

_HOW_TO = ROOT / "docs" / "how-to" / "monitoring.md"
_RULES = ROOT / "docker" / "prometheus" / "alerts.yml"
_CASES = ROOT / "tests" / "metrics" / "alerts.yml"
_DASHBOARD = ROOT / "docker" / "grafana" / "pgsched.json"


def _shown() -> set[str]:
    """Returns every name that may appear on the metrics page."""
    found = set()
    for name, metric in catalogue.ALL.items():
        suffixes = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}[metric.kind]
        found |= {name + suffix for suffix in suffixes}
    return found


def _expressions() -> Iterator[str]:
    for group in yaml.safe_load(_RULES.read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])
    for panel in json.loads(_DASHBOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for line in _HOW_TO.read_text().partition("| to know | ask |")[2].partition("\n\n")[0].splitlines()[2:]:
        yield from re.findall(r"`([^`]+)`", line.split("|", 2)[2])


def test_every_promql_expression_is_valid_and_uses_existing_metrics() -> None:
    expressions = list(_expressions())
    assert len(expressions) > 40
    recorded = {rule["record"] for rule in yaml.safe_load(_RULES.read_text())["groups"][0]["rules"]}
    for expression, parsed in zip(expressions, run("promql.mjs", expressions), strict=True):
        assert parsed["valid"], expression
        assert set(parsed["metrics"]) <= _shown() | recorded, expression


def test_each_alert_fires_only_in_its_own_case() -> None:
    """``promtool test rules`` runs the cases. Each alert has a case."""
    promtool("test", "rules", _CASES)
    named = set(re.findall(r"Pgsched\w+", _CASES.read_text()))
    assert named == {rule["alert"] for rule in yaml.safe_load(_RULES.read_text())["groups"][1]["rules"]}


def test_prometheus_accepts_the_example_configuration(tmp_path: Path) -> None:
    (tmp_path / "alerts.yml").write_text(_RULES.read_text())
    (tmp_path / "key").write_text("psk_key")
    given = (_RULES.parent / "prometheus.yml").read_text().replace("/etc/prometheus/pgsched.key", str(tmp_path / "key"))
    (tmp_path / "prometheus.yml").write_text(given)
    promtool("check", "config", "--lint-fatal", tmp_path / "prometheus.yml")


def test_every_alert_has_a_severity_and_a_description() -> None:
    alerts = yaml.safe_load(_RULES.read_text())["groups"][1]["rules"]
    for alert in alerts:
        assert alert["labels"]["severity"] in {"page", "ticket"}
        assert alert["annotations"].keys() == {"summary", "description"}
    assert len({alert["alert"] for alert in alerts}) == len(alerts)


def test_the_how_to_guide_lists_exactly_the_existing_metrics() -> None:
    table = {
        tuple(cell.strip() for cell in line.strip("|").split("|"))[:3]
        for line in _HOW_TO.read_text().splitlines()
        if line.startswith("| `pgsched_") and line.count("|") == 5
    }
    assert table == {
        (
            f"`{name}{'_total' if metric.kind == 'counter' else ''}`",
            metric.kind,
            ", ".join(f"`{a}`" for a in metric.labels),
        )
        for name, metric in catalogue.ALL.items()
    }
