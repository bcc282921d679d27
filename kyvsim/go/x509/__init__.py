"""Certificates and signing requests in PEM form."""

from kyvsim.go.x509.der import CertificateError
from kyvsim.go.x509.pem import decode_pem

__all__ = ["CertificateError", "decode_pem"]
