"""Signals, by which a part of a process informs others without knowing them."""

from collections.abc import Callable
from typing import Generic, ParamSpec

_Told = ParamSpec("_Told")


class Signal(Generic[_Told]):
    """Calling a signal calls its listeners, in the order in which they were connected. A listener must not wait and
    must not raise."""

    def __init__(self) -> None:
        self._listeners: list[Callable[_Told, object]] = []

    def connect(self, listener: Callable[_Told, object]) -> None:
        self._listeners.append(listener)

    def __call__(self, *args: _Told.args, **kwargs: _Told.kwargs) -> None:
        for listener in self._listeners:
            listener(*args, **kwargs)
