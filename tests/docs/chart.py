"""The Helm chart, rendered as Helm does it. ``python -m tests.docs.chart`` writes the manifests that are kept of it."""

from collections.abc import Iterator
from typing import Any

import helm_python
import yaml

from tests.docs.fences import ROOT

CHART = ROOT / "docker" / "helm" / "pgsched"
MANIFESTS = ROOT / "docker" / "kubernetes" / "pgsched.yaml"
_HEAD = """\
# What the chart in docker/helm/pgsched makes with its own values. Replace the image and the database, and make the
# Secret pgsched-passwords first: see docs/how-to/kubernetes.md.
"""


def rendered(values: dict[str, Any] | None = None) -> str:
    """All manifests. Raises HelmError for values that the chart does not take."""
    with helm_python.Chart.load(str(CHART)) as chart:
        chart.validate_schema(values or {})
        found = chart.render(values or {}, name="pgsched", namespace="default")
    texts = [text.strip() for name, text in sorted(found.items()) if name.endswith(".yaml")]
    return "".join(f"---\n{text.removeprefix('---').strip()}\n" for text in texts)


def objects(values: dict[str, Any] | None = None) -> Iterator[Any]:
    """The manifests as Kubernetes reads them."""
    return (one for one in yaml.safe_load_all(rendered(values)) if one is not None)


def kept() -> str:
    """What the file of manifests is to contain."""
    return _HEAD + rendered()


if __name__ == "__main__":
    MANIFESTS.write_text(kept(), encoding="utf-8")
