"""The option ``tls``: the certificate by which a client proves to a target who it is, and its private key."""

from dataclasses import dataclass
from typing import Any

from pgsched.domain.secret import is_name
from pgsched.errors import InvalidOptions

_MEMBERS = frozenset({"certificate", "key"})


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """``certificate`` and ``key`` name secrets; without a ``key`` it is in the same secret as the certificate."""

    certificate: str
    key: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The secrets that it is in."""
        return (self.certificate,) if self.key is None else (self.certificate, self.key)


def parse_tls(key: str, value: Any) -> ClientCertificate:
    """Raises InvalidOptions, with what to write; what was written may be a key that got here by mistake, and is not
    repeated."""
    is_right = isinstance(value, dict) and "certificate" in value and value.keys() <= _MEMBERS
    if not is_right or not all(is_name(name) for name in value.values()):
        raise InvalidOptions(
            f'{key} must name the secrets with a certificate and its key, such as {{"certificate": "bank-certificate", '
            '"key": "bank-key"}; the key is left out where one secret has both'
        )
    return ClientCertificate(**value)
