"""As for the benchmarks that are not a command."""

from tests.benchmarks.conftest import _copied as _copied
