"""TLS for callbacks: trusted authorities and client certificates.

A certificate is presented only to the hosts that it is meant for. A callback without a certificate never uses a
connection that was opened with a certificate.
"""

import json
import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pgsched.domain.target import canonical_host
from pgsched.errors import InvalidSettings, InvalidTarget

_NO_PASSWORD = b""  # without this, OpenSSL would ask for a password on the terminal


def trusting_context(authorities: str | None = None) -> ssl.SSLContext:
    """Returns a context that trusts the system's authorities and those in the file ``authorities``. Raises
    InvalidSettings if the file contains no authorities."""
    context = ssl.create_default_context()
    # Since Python 3.13, the default refuses authorities that violate details of RFC 5280. Many private authorities
    # violate them, and other programs accept such authorities.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except (OSError, ssl.SSLError) as error:
            raise InvalidSettings(f"tls_authorities: {authorities} cannot be used: {_why(error)}") from error
    return context


def certificate_contexts(certificates: str, authorities: str | None = None) -> dict[str, ssl.SSLContext]:
    """Returns a context for each host, or ``client@host``, in the setting ``tls_certificates``. Raises InvalidSettings
    for a file that cannot be used."""
    return {
        _canonical(whom): _with_certificate(trusting_context(authorities), whom, file)
        for whom, file in json.loads(certificates).items()
    }


def certificate_for(host: str, client: str, certificates: Mapping[str, ssl.SSLContext]) -> ssl.SSLContext | None:
    """Returns the context for a client's callbacks to a host, or None. An entry for ``client@host`` takes precedence
    over an entry for the host."""
    return certificates.get(f"{client}@{host}") or certificates.get(host)


def certified_context(certificate: str, key: str | None, authorities: str | None = None) -> ssl.SSLContext:
    """Returns a context that presents this certificate. ``certificate`` and ``key`` are PEM texts; without ``key``, the
    key is part of ``certificate``. Raises InvalidSettings if the texts are invalid. The message does not contain the
    texts."""
    context = trusting_context(authorities)
    try:
        with _file_of(certificate) as file, _file_of(certificate if key is None else key) as key_file:
            context.load_cert_chain(file, key_file, password=_NO_PASSWORD)
    except (OSError, ssl.SSLError) as error:
        wanted = "it must be PEM, with the certificate and its key, without a password"
        raise InvalidSettings(f"{_why(error)}; {wanted}") from None
    return context


@contextmanager
def _file_of(text: str) -> Iterator[str]:
    """Yields the path of a file with this text, because OpenSSL reads certificates only from files. The file is in
    memory if the system supports that."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:  # readable only by this user
            file.write(text)
            file.flush()
            yield file.name
        return
    descriptor = os.memfd_create("certificate")
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(text)
        opened.flush()
        yield f"/proc/self/fd/{descriptor}"


def _canonical(whom: str) -> str:
    client, at, host = whom.rpartition("@")
    try:
        return client + at + canonical_host(host).strip("[]")
    except InvalidTarget as error:
        raise InvalidSettings(f"tls_certificates: {error}") from None


def _with_certificate(context: ssl.SSLContext, whom: str, file: object) -> ssl.SSLContext:
    try:
        context.load_cert_chain(str(file), password=_NO_PASSWORD)
    except (OSError, ssl.SSLError) as error:
        wanted = "it must be a PEM file with the certificate and its key, without a password"
        raise InvalidSettings(f"tls_certificates: {file} for {whom} cannot be used: {_why(error)}; {wanted}") from error
    return context


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or error)
