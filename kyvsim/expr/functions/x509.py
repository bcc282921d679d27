"""The function that takes certificates apart.

upstream: pkg/engine/jmespath/functions.go (jpX509Decode).
"""

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import OBJECT, STRING, Function
from kyvsim.go.x509 import CertificateError, decode_pem
from kyvsim.kube.objects import Json


def x509_decode(text: str) -> Json:
    """Return the fields of the certificate or request in the first PEM block; its key is RSA."""
    try:
        return decode_pem(text).fields
    except CertificateError as error:
        raise QueryError(str(error)) from None


FUNCTIONS = (
    Function(
        "x509_decode",
        (STRING,),
        OBJECT,
        "the fields of a certificate or signing request in PEM form; its key must be an RSA key",
        x509_decode,
    ),
)
