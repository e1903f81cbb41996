"""The error when the libraries of an extra are not installed."""

import pytest

from pgsched.errors import InvalidSettings
from pgsched.extras import extra


def test_the_error_for_a_missing_library_names_its_extra() -> None:
    said = r"^tracing needs an extra: pip install 'pgsched\[tracing\]'$"
    said = r"^tracing needs an extra: pip install 'pgsched\[tracing\]'$"
    with pytest.raises(InvalidSettings, match=said), extra("tracing", by="tracing"):
        raise ModuleNotFoundError("No module named 'opentelemetry'", name="opentelemetry")


def test_a_missing_pgsched_module_is_not_reported_as_a_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError), extra("tracing", by="tracing"):
        raise ModuleNotFoundError("No module named 'pgsched.span'", name="pgsched.span")
