"""Finds the pgsched.App that ``--app module:attribute`` names."""

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

from pgsched.delivery.app import App
from pgsched.errors import InvalidSettings


def load_app(name: str) -> App:
    """Imports the App, also from the current directory. Raises InvalidSettings with the reason if the import fails."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise InvalidSettings(f"app is {name!r}: write module:attribute, such as shop.handlers:app")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    found = getattr(_module(module_name, name), attribute, None)
    if not isinstance(found, App):
        raise InvalidSettings(f"app is {name!r}, but {attribute!r} in {module_name} is not a pgsched.App")
    return found


def _module(module_name: str, name: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise InvalidSettings(f"app is {name!r}, but there is no module {error.name}") from error
    except Exception as error:  # the module's code may raise any error, which is reported as the reason
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__}: {error} ({where.filename}, line {where.lineno})"
        raise InvalidSettings(f"app is {name!r}, but importing it failed with {reason}") from error
