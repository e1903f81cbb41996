"""Turns an execution into a CloudEvent 1.0 in binary mode: adds attributes, and leaves the payload unchanged."""

from dataclasses import dataclass

from pgsched.domain.execution import ClaimedExecution, instant_text, uuid_text

ATTRIBUTES = ("specversion", "id", "source", "type", "time", "subject")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEvent:
    """The attributes that the caller sets. The other attributes are taken from the execution."""

    type: str
    source: str

    def attributes(self, execution: ClaimedExecution) -> list[tuple[str, str]]:
        """Returns the names and values of all attributes. The id is the same for every attempt, so that receivers can
        recognise repeats.
        """
        named = [
            ("specversion", "1.0"),
            ("id", uuid_text(execution.id)),
            ("source", self.source),
            ("type", self.type),
            ("time", instant_text(execution.scheduled_for)),
        ]
        return named if execution.key is None else [*named, ("subject", execution.key)]
