"""The function that takes certificates apart.

upstream: pkg/engine/jmespath/functions.go (jpX509Decode).
"""

import base64
import binascii
import re
from collections.abc import Callable

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import OBJECT, STRING, Function
from kyvsim.kube.objects import Json

_BLOCK = re.compile(
    r"^-----BEGIN ([^\r\n]*?)-----[ \t\r]*\n(?:[^\r\n]*:[^\n]*\n)*(.*?)^-----END \1-----[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)


def x509_decode(text: str) -> Json:
    """Return the fields of the certificate or request in the first PEM block; its key is RSA."""
    label, data = _first_block(text)
    decode = _decoder(label)
    try:
        return decode(data)
    except ValueError as error:
        message = str(error)
        known = message.startswith(("x509: ", "asn1: ", "certificate "))
        raise QueryError(message if known else "x509: malformed certificate") from None


def _first_block(text: str) -> tuple[str, bytes]:
    for found in _BLOCK.finditer(text):
        try:
            return found[1], base64.b64decode(re.sub(r"\s", "", found[2]), validate=True)
        except binascii.Error:
            continue
    raise QueryError("failed to decode PEM block")


def _decoder(label: str) -> Callable[[bytes], Json]:
    # imported here, since few policies look into certificates
    from kyvsim.expr.functions import certificate  # noqa: PLC0415 - slow to import, rarely needed

    if label == "CERTIFICATE":
        return certificate.decode_certificate
    if label == "CERTIFICATE REQUEST":
        return certificate.decode_request
    raise QueryError("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")


FUNCTIONS = (
    Function(
        "x509_decode",
        (STRING,),
        OBJECT,
        "the fields of a certificate or signing request in PEM form; its key must be an RSA key",
        x509_decode,
    ),
)
