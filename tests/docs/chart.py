"""Renders the Helm chart as Helm does. ``python -m tests.docs.chart`` writes the stored manifests."""

from collections.abc import Iterator
from typing import Any

import helm_python
import yaml

from tests.docs.fences import ROOT

CHART = ROOT / "docker" / "helm" / "pgsched"
MANIFESTS = ROOT / "docker" / "kubernetes" / "pgsched.yaml"
_HEAD = """\
# The output of the chart in docker/helm/pgsched with its default values. Replace the image and the database, and create
# the Secret pgsched-passwords first: see docs/how-to/kubernetes.md.
"""


def rendered(values: dict[str, Any] | None = None) -> str:
    """Returns all manifests. Raises HelmError for values that the chart does not accept."""
    with helm_python.Chart.load(str(CHART)) as chart:
        chart.validate_schema(values or {})
        found = chart.render(values or {}, name="pgsched", namespace="default")
    texts = [text.strip() for name, text in sorted(found.items()) if name.endswith(".yaml")]
    return "".join(f"---\n{text.removeprefix('---').strip()}\n" for text in texts)


def objects(values: dict[str, Any] | None = None) -> Iterator[Any]:
    """Returns the manifests as Kubernetes parses them."""
    return (one for one in yaml.safe_load_all(rendered(values)) if one is not None)


def kept() -> str:
    """Returns the expected content of the manifest file."""
    return _HEAD + rendered()


if __name__ == "__main__":
    MANIFESTS.write_text(kept(), encoding="utf-8")
