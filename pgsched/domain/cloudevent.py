"""Turns an execution into a CloudEvent 1.0: attributes beside the payload, which is unchanged (binary mode)."""

from dataclasses import dataclass

from pgsched.domain.execution import ClaimedExecution, instant_text, uuid_text

ATTRIBUTES = ("specversion", "id", "source", "type", "time", "subject")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEvent:
    """The attributes that the caller gives; the others are the execution's."""

    type: str
    source: str

    def attributes(self, execution: ClaimedExecution) -> list[tuple[str, str]]:
        """Returns the attributes by name. The id is the same on each attempt, so that receivers recognise repeats."""
        named = [
            ("specversion", "1.0"),
            ("id", uuid_text(execution.id)),
            ("source", self.source),
            ("type", self.type),
            ("time", instant_text(execution.scheduled_for)),
        ]
        return named if execution.key is None else [*named, ("subject", execution.key)]
