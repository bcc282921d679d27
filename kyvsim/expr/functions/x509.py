"""The function that takes certificates apart.

upstream: pkg/engine/jmespath/functions.go (jpX509Decode).
"""

import base64
import binascii
import re

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import OBJECT, STRING, Function
from kyvsim.kube.objects import Json

_LABELS = ("CERTIFICATE", "CERTIFICATE REQUEST")
_BLOCK = re.compile(
    r"^-----BEGIN ([^\r\n]*?)-----[ \t\r]*\n(?:[^\r\n]*:[^\n]*\n)*(.*?)^-----END \1-----[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)


def x509_decode(text: str) -> Json:
    """Return the fields of the certificate or request in the first PEM block; its key is RSA."""
    # imported here, since few policies look into certificates
    from kyvsim.expr.functions import certificate  # noqa: PLC0415 - slow to import, rarely needed

    label, data = _first_block(text)
    if label not in _LABELS:
        raise QueryError("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")
    return certificate.decode(data, request=label == "CERTIFICATE REQUEST")


def _first_block(text: str) -> tuple[str, bytes]:
    for found in _BLOCK.finditer(text):
        try:
            return found[1], base64.b64decode(re.sub(r"\s", "", found[2]), validate=True)
        except binascii.Error:
            continue
    raise QueryError("failed to decode PEM block")


FUNCTIONS = (
    Function(
        "x509_decode",
        (STRING,),
        OBJECT,
        "the fields of a certificate or signing request in PEM form; its key must be an RSA key",
        x509_decode,
    ),
)
