"""The fixtures of tests/benchmarks."""

from tests.benchmarks.conftest import _copied as _copied
