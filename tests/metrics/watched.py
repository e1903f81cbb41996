"""A Prometheus that evaluates the alert rules of ``docker/prometheus`` with shortened durations."""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from pgsched.embedded.processes import free_port
from tests.docs.fences import ROOT
from tests.programs.prometheus import prometheus

_RULES = ROOT / "docker" / "prometheus" / "alerts.yml"
_DURATION = re.compile(r"(?<=\[)(\d+)([mh])(?=\])|(?<=for: )(\d+)([mh])$", re.MULTILINE)
_SECONDS = {"m": 60, "h": 3600}
_CONFIGURATION = """
global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: pgsched-api
    authorization: {{credentials: {key}}}
    static_configs: [{{targets: ["{api}"]}}]
  - job_name: pgsched-workers
    static_configs: [{{targets: ["{workers}"]}}]
"""


class Watch:
    """Watches alerts. ``seen`` holds the alerts that have fired since it was last cleared."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.seen: set[str] = set()

    def firing(self) -> set[str]:
        with urllib.request.urlopen(f"{self._url}/api/v1/alerts", timeout=10) as response:
            alerts = json.load(response)["data"]["alerts"]
        found = {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}
        self.seen |= found
        return found

    def until(self, condition: Callable[[set[str]], bool], within: float, what: str) -> None:
        """Polls until the condition holds for the firing alerts. Raises AssertionError on timeout."""
        end = time.monotonic() + within
        while not condition(found := self.firing()):
            assert time.monotonic() < end, f"{what}: {sorted(found)} fires, {sorted(self.seen)} has fired"
            time.sleep(0.5)

    def keep_looking(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self.until(lambda _: time.monotonic() > end, seconds + 10, "looking")


def shortened(rules: str, by: float) -> str:
    """Divides the durations of ranges and of ``for`` in the rules."""

    def shorten(found: re.Match[str]) -> str:
        count, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
        return f"{max(int(count) * _SECONDS[unit] / by, 1.0):.0f}s"

    return _DURATION.sub(shorten, rules)


@contextmanager
def watch(place: Path, *, port: int, api: str, workers: str, key: str, shorter: float) -> Iterator[Watch]:
    """Runs a Prometheus on this port, with its data under ``place``."""
    place.mkdir()
    (place / "alerts.yml").write_text(shortened(_RULES.read_text(), shorter))
    (place / "prometheus.yml").write_text(_CONFIGURATION.format(key=key, api=api, workers=workers))
    with _running(place, port) as address:
        yield Watch(address)


@contextmanager
def scraping(place: Path, configuration: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Runs a Prometheus with this configuration and the rules. Yields each job's health once all are known."""
    place.mkdir()
    (place / "alerts.yml").write_text(_RULES.read_text())
    (place / "prometheus.yml").write_text(yaml.safe_dump(configuration))
    with _running(place, free_port()) as address:
        while "unknown" in (found := _healths(address)).values() or not found:
            time.sleep(0.2)
        yield found


@contextmanager
def _running(place: Path, port: int) -> Iterator[str]:
    """Runs Prometheus with the configuration in ``place``. Yields its address."""
    listens = f"127.0.0.1:{port}"
    command = [str(prometheus()), f"--config.file={place / 'prometheus.yml'}", f"--storage.tsdb.path={place / 'data'}"]
    with (place / "log").open("w") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={listens}"], stdout=log, stderr=log)
    try:
        _await_ready(f"http://{listens}", process, place / "log")
        yield f"http://{listens}"
    finally:
        process.terminate()
        process.wait(30)


def _healths(address: str) -> dict[str, str]:
    with urllib.request.urlopen(f"{address}/api/v1/targets", timeout=10) as response:
        targets = json.load(response)["data"]["activeTargets"]
    return {one["labels"]["job"]: one["health"] for one in targets}


def _await_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=10):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())
