"""The attacks, by what they abuse. Each module puts its own on the list when it is imported."""

import pkgutil
from importlib import import_module

from tests.adversary.attack import ATTACKS, Attack


def every() -> list[Attack]:
    """All attacks of all modules of this folder."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return ATTACKS
