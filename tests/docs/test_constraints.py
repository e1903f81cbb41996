"""Releases use the versions and hashes in constraints.txt, and images are pinned by digest. A decision justifies each
dependency."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
_PINNED = re.compile(
    r"^([a-z0-9._-]+)==(\S+)(?: ; .*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
_EXTRAS = ("server", "kafka", "oidc", "secrets")


@pytest.fixture(scope="module")
def pinned() -> dict[str, Version]:
    text = (ROOT / "constraints.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = _PINNED.findall(text)
    assert sum(1 + hashes.count("--hash=") for _, _, hashes in found) == len(lines)  # the file contains nothing else
    return {name: Version(version) for name, version, _ in found}


def _wanted() -> Iterator[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    yield from map(Requirement, project["project"]["dependencies"])
    yield from map(Requirement, project["build-system"]["requires"])
    for extra in _EXTRAS:
        yield from map(Requirement, project["project"]["optional-dependencies"][extra])


def test_every_requirement_is_pinned_to_a_version_that_satisfies_it(pinned: dict[str, Version]) -> None:
    for wanted in _wanted():
        assert wanted.specifier.contains(pinned[canonicalize_name(wanted.name)]), f"{wanted}: make constraints"


def test_transitive_requirements_are_pinned(pinned: dict[str, Version]) -> None:
    left, seen = [one for one in _wanted() if one.name != "hatchling"], set[str]()
    while left:
        wanted = left.pop()
        name = canonicalize_name(wanted.name)
        environments = [{"extra": extra} for extra in wanted.extras or {""}]
        if wanted.marker is not None and not any(map(wanted.marker.evaluate, [{"extra": ""}, *environments])):
            continue
        assert name in pinned, f"{wanted}: make constraints"
        if (key := str(wanted)) not in seen:
            seen.add(key)
            for text in requires(name) or ():
                asked = Requirement(text)
                if asked.marker is None or any(map(asked.marker.evaluate, environments)):
                    asked.marker = None
                    left.append(asked)


def test_the_decision_about_libraries_names_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    [page] = (ROOT / "docs" / "decisions").glob("*-use-these-libraries.md")
    named = {canonicalize_name(word) for word in re.findall(r"[\w.-]+", page.read_text())}
    assert {canonicalize_name(Requirement(one).name) for one in asked} - named == set()


@pytest.mark.parametrize("file", ["Dockerfile", "compose.yaml"])
def test_third_party_images_are_pinned_by_digest(file: str) -> None:
    text = (ROOT / "docker" / file).read_text()
    stages = set(re.findall(r" AS (\w+)", text)) | {"pgsched"}
    images = [name for name in re.findall(r"^(?:FROM| *image:) (\S+)", text, re.MULTILINE) if name not in stages]
    assert images
    assert [name for name in images if not re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", name)] == []
