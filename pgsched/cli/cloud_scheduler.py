"""Reads what ``gcloud scheduler jobs list --format json`` prints."""

import base64
import json
from typing import Any

import msgspec

from pgsched.errors import InvalidInput

_ITS_OWN = {"user-agent", "content-type", "content-length", "host"}


class _Call(msgspec.Struct, rename="camel"):
    uri: str
    http_method: str = "POST"
    headers: dict[str, str] = {}
    body: str | None = None
    oidc_token: Any = None
    oauth_token: Any = None


class _Retries(msgspec.Struct, rename="camel"):
    retry_count: int = 0
    min_backoff_duration: str = "5s"
    max_backoff_duration: str = "3600s"


class Job(msgspec.Struct, rename="camel"):
    """A job of Cloud Scheduler, as far as it has a like."""

    name: str
    schedule: str
    time_zone: str = "UTC"
    state: str = "ENABLED"
    http_target: _Call | None = None
    attempt_deadline: str = "180s"
    retry_config: _Retries = msgspec.field(default_factory=_Retries)


def jobs_in(text: str) -> list[Job]:
    """The jobs. Raises InvalidInput for what is no list of them in JSON."""
    try:
        return msgspec.json.decode(text, type=list[Job])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        wanted = "write what `gcloud scheduler jobs list --format json` prints"
        raise InvalidInput(f"this is no list of jobs of Cloud Scheduler ({error}): {wanted}") from None


def declared_from(job: Job) -> dict[str, Any]:
    """The job as a declaration. Raises InvalidInput for what has no like, and says what that is."""
    call, retries = job.http_target, job.retry_config
    if call is None:
        raise InvalidInput("it publishes to Pub/Sub or calls App Engine: schedule it with a target of your own")
    if call.oidc_token or call.oauth_token:
        raise InvalidInput(
            "it sends a token of a service account: keep that as a secret and name it by the option auth"
        )
    if job.state != "ENABLED":
        raise InvalidInput(f"it is {job.state.lower()}: resume it first, or schedule it by hand and pause it")
    options: dict[str, Any] = {"method": call.http_method, "timeout": job.attempt_deadline}
    options["max_attempts"] = 1 + retries.retry_count
    if retries.retry_count:
        options["backoff"] = {"initial": retries.min_backoff_duration, "maximum": retries.max_backoff_duration}
    if headers := {name: value for name, value in call.headers.items() if name.lower() not in _ITS_OWN}:
        options["headers"] = headers
    declared = {"key": job.name.rpartition("/")[2], "target": call.uri, "cron": job.schedule, "timezone": job.time_zone}
    payload = {"payload": _payload(call.body)} if call.body else {}
    return {**declared, **payload, "options": options}


def _payload(body: str) -> Any:
    try:
        return json.loads(base64.b64decode(body, validate=True))
    except (ValueError, RecursionError):
        raise InvalidInput("its body is not JSON: declare it by hand, with the option body") from None
