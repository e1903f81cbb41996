"""The bodies of requests about clients, queues, limits, targets and ordering keys.

Only named settings change; null sets the default.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from pgsched.api.bodies import Duration, Instant

Weight = Annotated[int, Meta(ge=1, le=100, description="Weight when workers are saturated; the default is 1.")]
Defaults = Annotated[
    dict[str, Any],
    Meta(description="Defaults for options that an execution does not set: timeout, max_attempts, headers, …"),
]
ChannelName = Annotated[
    str,
    Meta(
        pattern=r"^(http|python|sql|notify|kafka|notify:[A-Za-z_][A-Za-z0-9_]{0,62})$",
        description="A kind of targets, or one channel that is notified for no other client.",
    ),
]
Told = Annotated[str, Meta(max_length=2048, description="Target to call for each dead letter.")]


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    def changes(self) -> dict[str, Any]:
        """By the names that the database's functions have for them."""
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name != "name"}
        return {name: value for name, value in given.items() if value is not UNSET}


class ClientSettings(_Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The changes of a client. options are replaced as a whole."""

    keep: Literal["all", "failures", "nothing"] | UnsetType | None = UNSET
    options: Defaults | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    database_role: Annotated[str, Meta(min_length=1, max_length=63)] | UnsetType | None = UNSET
    channels: Annotated[list[ChannelName], Meta(min_length=1, max_length=20)] | UnsetType | None = UNSET
    dead_letter_target: Told | UnsetType | None = UNSET
    dead_letters_for: Duration | UnsetType | None = UNSET
    late_after: Duration | UnsetType | None = UNSET
    on_time_share: Annotated[float, Meta(ge=0.5, le=0.9999)] | UnsetType | None = UNSET


class QueueSettings(_Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The changes of a queue. options are replaced as a whole."""

    options: Defaults | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    max_waiting: Annotated[int, Meta(ge=1, le=100_000_000)] | UnsetType | None = UNSET


class NewQueue(QueueSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue to make."""

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,62}$", examples=["orders"])]
    pulled: Annotated[bool, Meta(description="Consumers pull from it; workers do not deliver from it.")] | UnsetType = (
        UNSET
    )


class Rotation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A random secret is made where none is given. Former ones stay valid for keep_for, a day where it is left out."""

    secret: Annotated[str, Meta(description="whsec_ and the base64 of 24 to 64 random bytes.")] | None = None
    keep_for: Duration | None = None


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """rate in each per begin, burst of them at once after a lull; concurrency run at once. At least one of rate and
    concurrency."""

    rate: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    per: Duration = "PT1S"
    burst: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    concurrency: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class TargetHost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A target host, as targets name it, for one client or (left out) for all."""

    host: Annotated[str, Meta(min_length=1, max_length=300)]
    client: Annotated[str, Meta(min_length=1, max_length=100)] | None = None


class Sidelining(TargetHost, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Until an instant, or until it is restored."""

    until: Instant | None = None
    note: Annotated[str, Meta(max_length=1000)] | None = None


class OrderingKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An ordering key of a client."""

    client: Annotated[str, Meta(min_length=1, max_length=100)]
    ordering_key: Annotated[str, Meta(min_length=1, max_length=200)]
