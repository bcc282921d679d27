"""The first block of a PEM text.

upstream: Go's encoding/pem.
"""

import base64
import binascii
import re
from typing import TYPE_CHECKING

from kyvsim.go.x509.der import CertificateError

if TYPE_CHECKING:
    from kyvsim.go.x509.certificate import Decoded

_LABELS = ("CERTIFICATE", "CERTIFICATE REQUEST")
_BLOCK = re.compile(
    r"^-----BEGIN ([^\r\n]*?)-----[ \t\r]*\n(?:[^\r\n]*:[^\n]*\n)*(.*?)^-----END \1-----[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)


def decode_pem(text: str) -> "Decoded":
    """Return what the first PEM block holds; its key is RSA. Raises CertificateError."""
    # imported here, since few policies look into certificates
    from kyvsim.go.x509 import certificate  # noqa: PLC0415 - slow to import, rarely needed

    label, data = _first_block(text)
    if label not in _LABELS:
        raise CertificateError("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")
    return certificate.decode(data, request=label == "CERTIFICATE REQUEST")


def _first_block(text: str) -> tuple[str, bytes]:
    for found in _BLOCK.finditer(text):
        try:
            return found[1], base64.b64decode(re.sub(r"\s", "", found[2]), validate=True)
        except binascii.Error:
            continue
    raise CertificateError("failed to decode PEM block")
