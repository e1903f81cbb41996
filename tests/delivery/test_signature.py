from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from pgsched.delivery.signature import sign
from pgsched.domain.secret import parse_signing_secret
from pgsched.errors import InvalidInput

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def now() -> int:
    return int(datetime.now(UTC).timestamp())


def headers(signature: str, timestamp: int) -> dict[str, str]:
    return {"webhook-id": "id-1", "webhook-timestamp": str(timestamp), "webhook-signature": signature}


@given(st.text().map(str.encode))
def test_the_official_verifier_accepts_a_signature(body: bytes) -> None:
    moment = now()
    signature = sign(parse_signing_secret(SECRET), "id-1", moment, body)
    Webhook(SECRET).verify(body, headers(signature, moment), json_parse=False)


def test_the_verifier_refuses_a_different_body() -> None:
    moment = now()
    signature = sign(parse_signing_secret(SECRET), "id-1", moment, b'{"amount": 1}')
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(b'{"amount": 1000}', headers(signature, moment))


def test_a_signature_matches_the_standards_example() -> None:
    signature = sign(parse_signing_secret(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    "text", ["", "secret", "whsec_", "whsec_!!!!", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
)
def test_an_invalid_secret_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="write whsec_ followed by the base64"):
        parse_signing_secret(text)
