"""The settings, as one frozen object. ``cli.settings_sources`` merges flags, environment and ``pgsched.toml``."""

import ipaddress
import json
import re
from dataclasses import dataclass, field, fields
from typing import TypeVar

from pgsched.errors import InvalidSettings

_Value = TypeVar("_Value")


def _setting(
    default: _Value,
    text: str,
    *,
    metavar: str = "",
    within: tuple[float, float] | None = None,
    secret: bool = False,
    password: bool = False,
) -> _Value:
    """Declares a setting. ``text`` is the help text of its flag. ``within`` contains the minimum and the maximum. A
    ``secret`` setting has no flag, because every user of the machine can read flags. The flag of a setting that may
    contain a ``password`` refuses passwords."""
    return field(
        default=default,
        repr=not (secret or password),
        metadata={"text": text, "metavar": metavar, "within": within, "secret": secret, "password": password},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings. Durations are in seconds."""

    database_url: str | None = _setting(
        None, "PostgreSQL to use, e.g. postgresql://user@host/database.", metavar="URL", password=True
    )
    host: str = _setting("127.0.0.1", "Address on which the API listens.", metavar="ADDRESS")
    allowed_hosts: str = _setting(
        "", "Host names that the API accepts besides loopback names and --host; * accepts any.", metavar="NAMES"
    )
    port: int = _setting(8080, "Port on which the API listens; 0 picks a free one.", within=(0, 65_535))
    data_dir: str = _setting(".pgsched", "Where the embedded PostgreSQL keeps its data.", metavar="DIR")
    app: str | None = _setting(None, "The pgsched.App with the handlers of python: targets.", metavar="MODULE:NAME")
    queues: str = _setting("default", "Queues to serve, separated by commas.", metavar="NAMES")
    processes: int = _setting(1, "Worker processes.", within=(1, 256))
    concurrency: int = _setting(
        200, "Maximum number of executions that one process runs at the same time.", within=(1, 10_000)
    )
    handler_threads: int = _setting(64, "Threads per process for handlers that are not async.", within=(1, 10_000))
    in_hand_bytes: int = _setting(
        67_108_864, "Bytes of large payloads and results that one process keeps in memory.", within=(1_048_576, 2**40)
    )
    batch: int = _setting(500, "Maximum number of rows per claim.", within=(1, 5_000))
    lease: float = _setting(
        30.0, "How long a worker holds a claimed row before other workers may take it.", within=(1, 3_600)
    )
    drain_timeout: float = _setting(
        20.0, "How long a stopping worker may take to finish what is in flight.", within=(0, 3_600)
    )
    blocked_timeout: float = _setting(
        60.0, "How long a handler may block its process before the process exits; 0 means forever.", within=(0, 86_400)
    )
    oidc: str = _setting("{}", "OpenID Connect providers whose tokens the API accepts, by issuer.", metavar="JSON")
    dashboard: str = _setting("on", "The dashboard: on, read-only or off.", metavar="WORD")
    receive_timeout: float = _setting(30.0, "How long a request to the API may take to arrive.", within=(0.1, 3_600))
    send_timeout: float = _setting(
        30.0, "How long the API waits for a client that does not read its response.", within=(0.1, 3_600)
    )
    poll_interval: float = _setting(
        1.0, "How often an idle worker polls if no notification arrives.", within=(0.05, 60)
    )
    look_ahead: float = _setting(0.2, "How long before its instant a row is claimed.", within=(0, 0.9))
    sideline_after: int = _setting(
        10, "Number of failures within ten seconds that sidelines a target; 0 means never.", within=(0, 10_000)
    )
    recovery_rate: int = _setting(
        10, "Executions per second with which calls to a sidelined target resume.", within=(1, 100_000)
    )
    kept_traceback: int = _setting(
        2_000,
        "Characters of a handler's traceback to keep with a failed attempt; 0 keeps none.",
        within=(0, 20_000),
    )
    connections_per_host: int = _setting(100, "Maximum connections per process to one target host.", within=(1, 10_000))
    allow_private_targets: bool = _setting(False, "Call targets at private and loopback addresses.")
    proxy: str | None = _setting(None, "Proxy for all callbacks, e.g. http://host:3128.", metavar="URL", password=True)
    tls_authorities: str | None = _setting(
        None, "PEM file of certificate authorities to trust in addition to the system's.", metavar="FILE"
    )
    tls_certificates: str = _setting(
        "{}", "Client certificate (PEM file) for each host, or client@host.", metavar="JSON"
    )
    notify: bool = _setting(True, "Listen for notifications; otherwise workers poll.")
    sql_role: str | None = _setting(
        None, "Role that calls functions for clients without a database_role.", metavar="ROLE"
    )
    sql_login: str = _setting(
        "user={role}",
        "Connection parameters for calling functions; {role} stands for the role.",
        metavar="PARAMETERS",
        password=True,
    )
    kafka_brokers: str | None = _setting(None, "Kafka brokers, host:port separated by commas.", metavar="HOSTS")
    kafka_config: str = _setting("{}", "Further librdkafka settings, as a JSON object.", metavar="JSON", password=True)
    secret_keys: str = _setting("", "Keys for sealing secrets, the newest first.", secret=True)
    tracing: bool = _setting(False, "Record traces of the API and workers; OTEL_… variables say where to send them.")
    metrics: str = _setting(
        "", "Address on which a worker command serves its metrics, e.g. 127.0.0.1:9464.", metavar="ADDRESS"
    )
    log_format: str = _setting("auto", "human, json, or auto: human on a terminal, else json.", metavar="FORMAT")
    log_level: str = _setting("info", "debug, info, warning or error.", metavar="LEVEL")

    def __post_init__(self) -> None:
        for setting in fields(self):
            low, high = setting.metadata["within"] or (None, None)
            value = getattr(self, setting.name)
            if low is not None and not low <= value <= high:
                raise InvalidSettings(f"{setting.name} is {value}; it must be from {low:g} to {high:g}")
        if self.look_ahead >= self.poll_interval:
            raise InvalidSettings("look_ahead must be less than poll_interval")
        if not self.queue_names:
            raise InvalidSettings("queues is empty: name at least one queue, such as default")
        if self.metrics and not _ADDRESS_WITH_PORT.fullmatch(self.metrics):
            raise InvalidSettings(
                f"metrics is {self.metrics!r}; it must be an address with a port, such as 127.0.0.1:9464"
            )
        if self.dashboard not in _DASHBOARDS:
            raise InvalidSettings(f"dashboard is {self.dashboard!r}; it must be one of {', '.join(_DASHBOARDS)}")
        if self.log_level not in _LOG_LEVELS:
            raise InvalidSettings(f"log_level is {self.log_level!r}; it must be one of {', '.join(_LOG_LEVELS)}")
        if self.log_format not in _LOG_FORMATS:
            raise InvalidSettings(f"log_format is {self.log_format!r}; it must be one of {', '.join(_LOG_FORMATS)}")
        if self.database_url is not None and not self.database_url.startswith(("postgresql://", "postgres://")):
            raise InvalidSettings("database_url must begin with postgresql://, such as postgresql://user@host/database")
        if self.database_url is not None:
            _check_address(self.database_url)
        for name, example in JSON_OBJECTS.items():
            _check_json_object(name, getattr(self, name), example)

    @property
    def takes_tokens(self) -> bool:
        """Whether the API accepts tokens from OpenID Connect providers."""
        return bool(json.loads(self.oidc))

    @property
    def queue_names(self) -> list[str]:
        """The names of the queues that a worker serves, in the given order."""
        return list(dict.fromkeys(name.strip() for name in self.queues.split(",") if name.strip()))


def is_loopback(host: str) -> bool:
    """Whether an address can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


JSON_OBJECTS = {
    "kafka_config": '{"linger.ms": 5}',
    "oidc": '{"https://login.example": {"audience": "pgsched", "rules": […]}}',
    "tls_certificates": '{"bank.example": "/etc/pgsched/bank.pem"}',
}
WITH_PASSWORD = {setting.name for setting in fields(Settings) if not setting.repr}
_ADDRESS_WITH_PORT = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_LOG_FORMATS = ("auto", "human", "json")
_DASHBOARDS = ("on", "read-only", "off")
_LOG_LEVELS = ("debug", "info", "warning", "error")


def _check_address(url: str) -> None:
    """Raises InvalidSettings for unescaped special characters: libpq would mistake part of a password for the host."""
    address = url.partition("://")[2]
    login = address.rpartition("@")[0]
    if re.search(r"[@/?#]", login) and not re.search(r"[/?].*=", login):
        raise InvalidSettings(
            "database_url has an @, /, ? or # in its user or password: write @ as %40, / as %2F, ? as %3F, # as %23 "
            "and % as %25, or leave the password out and set PGPASSWORD"
        )
    if re.search(r"%(?![0-9A-Fa-f]{2})", address):
        raise InvalidSettings("database_url has a % that is not an escape such as %40: write %25 for a percent sign")
    # libpq would report this too, but would repeat the password.
    if re.search(r"\s|%00", address):
        raise InvalidSettings(
            "database_url contains whitespace or %00: write %20 for a space, and remove anything else"
        )


def _check_json_object(name: str, text: str, example: str) -> None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        given = "invalid" if name in WITH_PASSWORD else repr(text)
        raise InvalidSettings(f"{name} is {given}; it must be a JSON object, such as {example}")
