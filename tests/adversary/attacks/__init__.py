"""The attacks, grouped by what they abuse. Each module registers its attacks on import."""

import pkgutil
from importlib import import_module

from tests.adversary.attack import ATTACKS, Attack


def every() -> list[Attack]:
    """Imports all modules of this package and returns all attacks."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return ATTACKS
