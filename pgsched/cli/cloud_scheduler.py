"""Converts the output of ``gcloud scheduler jobs list --format json`` into declarations."""

import base64
import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import accumulate, islice, takewhile
from typing import Any

import msgspec

from pgsched.domain.duration import LONGEST, format_duration
from pgsched.errors import InvalidInput

_DROPPED = re.compile(r"user-agent|content-length|host|x-google-.*|x-appengine-.*|x-cloudscheduler.*", re.IGNORECASE)
"""Headers that Cloud Scheduler removes or overwrites."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_MOST_ATTEMPTS, _MOST_WAITS = 1000, 100
_WAITS = timedelta(milliseconds=1), timedelta(days=7)
_TIMEOUTS = timedelta(milliseconds=100), timedelta(days=1)
_LONGEST_LABEL = 200
_ERRORS_OF_CALLERS = list(range(400, 500))
"""Statuses after which Cloud Scheduler retries by default, but pgsched does not."""


class _Call(msgspec.Struct, rename="camel"):
    uri: str
    http_method: str = "POST"
    headers: dict[str, str] = {}
    body: str | None = None
    oidc_token: Any = None
    oauth_token: Any = None


class _Retries(msgspec.Struct, rename="camel"):
    retry_count: int = 0
    max_retry_duration: str = "0s"
    min_backoff_duration: str = "5s"
    max_backoff_duration: str = "3600s"
    max_doublings: int = 5


class CloudSchedulerJob(msgspec.Struct, rename="camel"):
    """A Cloud Scheduler job, with only the fields that are converted or checked."""

    name: str
    schedule: str
    description: str = ""
    time_zone: str = "UTC"
    state: str = "ENABLED"
    http_target: _Call | None = None
    attempt_deadline: str = "180s"
    retry_config: _Retries = msgspec.field(default_factory=_Retries)


def jobs_in(text: str) -> list[CloudSchedulerJob]:
    """Parses a JSON list of Cloud Scheduler jobs. Raises InvalidInput for any other text."""
    try:
        return msgspec.json.decode(text, type=list[CloudSchedulerJob])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        wanted = "give the output of `gcloud scheduler jobs list --format json`"
        raise InvalidInput(f"this is not a list of Cloud Scheduler jobs ({error}): {wanted}") from None


def declared_from(job: CloudSchedulerJob) -> dict[str, Any]:
    """Converts a job to a declaration. Raises InvalidInput, with the reason, if pgsched has no equivalent."""
    call = job.http_target
    if call is None:
        raise InvalidInput("it publishes to Pub/Sub or calls App Engine: schedule it by hand, with another target")
    if call.oidc_token is not None or call.oauth_token is not None:
        raise InvalidInput(
            "it sends a service account's token: store the account's key as a secret, and name the secret in auth"
        )
    if job.state != "ENABLED":
        raise InvalidInput(f"it is {job.state.lower()}: resume it first, or schedule it by hand and pause it")
    if len(job.description) > _LONGEST_LABEL:
        raise InvalidInput(f"its description is longer than {_LONGEST_LABEL} characters: shorten it in the file")
    timeout = _length("attemptDeadline", job.attempt_deadline)
    if not _TIMEOUTS[0] <= timeout <= _TIMEOUTS[1]:
        raise InvalidInput("its attemptDeadline must be from 0.1 s to 24 h: correct it in the file")
    retried = _retried(job.retry_config, timeout)
    options = {"method": call.http_method, "timeout": job.attempt_deadline, **retried}
    sent = _sent(call)
    scheduled: dict[str, Any] = {"cron": job.schedule, "timezone": job.time_zone}
    scheduled |= {"payload": sent.pop("payload")} if "payload" in sent else {}
    scheduled |= {"labels": {"description": job.description}} if job.description else {}
    return {"key": job.name.rpartition("/")[2], "target": call.uri, **scheduled, "options": options | sent}


def _sent(call: _Call) -> dict[str, Any]:
    """Returns the options ``headers`` and ``body``, and a payload with which pgsched sends exactly the same body."""
    headers = {name: value for name, value in call.headers.items() if not _DROPPED.fullmatch(name)}
    types = [headers.pop(name) for name in list(headers) if name.lower() == "content-type"]
    found: dict[str, Any] = {"headers": headers} if headers else {}
    if not call.body:
        if types:
            raise InvalidInput(
                "it sends a Content-Type without a body: remove that header from the file if the target ignores it"
            )
        return found
    if call.http_method not in _WITH_BODY:
        raise InvalidInput(
            f"it sends a body with {call.http_method}: pgsched sends a body only with {', '.join(sorted(_WITH_BODY))}"
        )
    format, payload = _payload(call.body)
    return {**found, "payload": payload, "body": {"format": format, "type": (types or ["application/octet-stream"])[0]}}


def _payload(body: str) -> tuple[str, str]:
    """Decodes a base64 body. Returns its format (text, or base64 if it is not text), and its content in that format."""
    try:
        sent = base64.b64decode(body, validate=True)
    except ValueError:
        raise InvalidInput("its body is not base64, which is what gcloud prints") from None
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        return "base64", base64.b64encode(sent).decode()
    return ("text", text) if "\0" not in text else ("base64", base64.b64encode(sent).decode())


def _retried(retries: _Retries, timeout: timedelta) -> dict[str, Any]:
    """Converts retries to options. Cloud Scheduler stops retrying after a number of retries or a time. If a job has
    both limits, it stops only when both are reached."""
    count, longest = retries.retry_count, _length("maxRetryDuration", retries.max_retry_duration)
    if not 0 <= count < _MOST_ATTEMPTS or longest > LONGEST:
        raise InvalidInput(
            f"its retryCount must be from 0 to {_MOST_ATTEMPTS - 1}, and its maxRetryDuration at most ten years: "
            "correct retryConfig"
        )
    if not count and not longest:
        return {"max_attempts": 1}
    begins = list(takewhile(lambda after: after <= longest, accumulate(islice(_waits(retries), _MOST_ATTEMPTS))))
    if count and longest and len(begins) >= count:
        if begins[count - 1] + count * timeout > longest:
            raise InvalidInput(
                f"it retries until both limits are reached, {count} retries and {retries.max_retry_duration}, and "
                "which one is reached later depends on how long the calls take: remove retryCount or maxRetryDuration "
                "from the file"
            )
        count = 0
    attempts = 1 + (count or len(begins))
    waits = list(islice(_waits(retries), attempts - 1))
    while len(waits) > 1 and waits[-1] == waits[-2]:  # the last wait also applies to all later retries
        waits.pop()
    if attempts > _MOST_ATTEMPTS or len(waits) > _MOST_WAITS:
        raise InvalidInput(
            f"it may be retried {attempts - 1} times or more, with growing waits: shorten maxRetryDuration"
        )
    if not waits:
        return {"max_attempts": 1}
    if not all(_WAITS[0] <= wait <= _WAITS[1] for wait in waits):
        raise InvalidInput("it waits less than 1 ms or more than 7 days between attempts: correct retryConfig")
    age = {} if count else {"max_retry_age": format_duration(longest)}
    backoff = [format_duration(wait) for wait in waits]
    return {"max_attempts": attempts, "backoff": backoff, **age, "retry_on": _ERRORS_OF_CALLERS}


def _waits(retries: _Retries) -> Iterator[timedelta]:
    """Yields the waits before retries, which double ``max_doublings`` times and then grow by a constant step."""
    wait = _length("minBackoffDuration", retries.min_backoff_duration)
    longest = _length("maxBackoffDuration", retries.max_backoff_duration)
    step, doubled = wait, 0
    while True:
        yield min(wait, longest)
        if wait >= longest:
            continue
        if doubled < retries.max_doublings:
            wait, doubled = 2 * wait, doubled + 1
            step = wait
        else:
            wait += step


def _length(name: str, text: str) -> timedelta:
    found = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]{1,9}))?s", text, re.ASCII)
    if found is None:
        raise InvalidInput(f"its {name} is {text!r:.80}: write seconds, such as 30s")
    return timedelta(seconds=int(found[1]), microseconds=int((found[2] or "0")[:6].ljust(6, "0")))
