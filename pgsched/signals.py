"""How the parts of a process tell each other something without knowing who listens."""

from collections.abc import Callable
from typing import Generic, ParamSpec

_Told = ParamSpec("_Told")


class Signal(Generic[_Told]):
    """Calling it calls everybody who is connected, in the order in which they were connected. Listeners must not wait
    and must not raise."""

    def __init__(self) -> None:
        self._listeners: list[Callable[_Told, object]] = []

    def connect(self, listener: Callable[_Told, object]) -> None:
        self._listeners.append(listener)

    def __call__(self, *args: _Told.args, **kwargs: _Told.kwargs) -> None:
        for listener in self._listeners:
            listener(*args, **kwargs)
