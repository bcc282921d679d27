"""Certificates taken apart.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/x509, which gives a certificate by a
struct of its own with fewer fields, and a signing request whole.
"""

from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.signature import function, way

_FIELDS = frozenset(
    """
    Raw RawTBSCertificate RawSubjectPublicKeyInfo RawSubject RawIssuer Signature
    PublicKeyAlgorithm PublicKey SerialNumber Issuer NotBefore NotAfter KeyUsage Extensions
    ExtraExtensions ExtKeyUsage BasicConstraintsValid IsCA MaxPathLen MaxPathLenZero
    AuthorityKeyId OCSPServer IssuingCertificateURL DNSNames EmailAddresses IPAddresses
    PermittedDNSDomainsCritical PermittedDNSDomains ExcludedDNSDomains PermittedIPRanges
    ExcludedIPRanges PermittedEmailAddresses ExcludedEmailAddresses PermittedURIDomains
    ExcludedURIDomains CRLDistributionPoints PolicyIdentifiers
    """.split()  # noqa: SIM905 — a list of words
)
"""What the struct for certificates has."""


def _decode(text: str) -> Any:
    from kyvsim.kubernetes.x509 import CertificateError, decode_pem

    try:
        found = decode_pem(text)
    except CertificateError as error:
        raise CelError(str(error)) from None
    if found.serial is None:
        return found.fields
    fields = {name: value for name, value in found.fields.items() if name in _FIELDS}
    return {**fields, "SerialNumber": _low_word(found.serial)}


def _low_word(number: int) -> float:
    """Return the lowest 64 bits as an int64, which is all that the struct holds."""
    bits = number & (1 << 64) - 1
    return float(bits - (1 << 64) if bits >> 63 else bits)


CERTIFICATES = Library("x509", (function("x509.decode", way("(string) -> dyn", _decode)),))
