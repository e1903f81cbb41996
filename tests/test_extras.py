"""What is said where the libraries of an extra are not installed."""

import pytest

from pgsched.errors import InvalidSettings
from pgsched.extras import extra


def test_a_library_that_is_not_installed_is_named_by_its_extra() -> None:
    said = r"^tracing needs an extra: pip install 'pgsched\[tracing\]'$"
    said = r"^tracing needs an extra: pip install 'pgsched\[tracing\]'$"
    with pytest.raises(InvalidSettings, match=said), extra("tracing", by="tracing"):
        raise ModuleNotFoundError("No module named 'opentelemetry'", name="opentelemetry")


def test_a_module_of_ours_that_cannot_be_imported_is_a_bug() -> None:
    with pytest.raises(ModuleNotFoundError), extra("tracing", by="tracing"):
        raise ModuleNotFoundError("No module named 'pgsched.span'", name="pgsched.span")
