"""Signatures over a message, checked with a public key.

upstream: github.com/sigstore/k8s-manifest-sigstore pkg/cosign/verify.go
"""

import base64
import binascii

_KEY_START = "-----BEGIN PUBLIC KEY-----"
_BAD = "invalid signature when validating ASN.1 encoded signature"


class KeyProblem(Exception):  # noqa: N818 — it names what cannot be used
    """A key that cannot be used here."""


def signature_problem(key: str, content: bytes, signature: str) -> str:
    """Return what is wrong with a base64 signature of `content`, or "".

    ECDSA and RSA (PKCS #1 v1.5) are over SHA-256, Ed25519 over the content. Raises `KeyProblem`.
    """
    from cryptography.exceptions import (
        InvalidSignature,
        UnsupportedAlgorithm,
    )
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import (
        ec,
        ed25519,
        padding,
        rsa,
    )
    from cryptography.hazmat.primitives.serialization import (
        load_pem_public_key,
    )

    if not key.startswith(_KEY_START):
        raise KeyProblem("kyvsim verifies with public keys in PEM only: no KMS, Secret or PGP key")
    try:
        loaded = load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        text = "failed to judge signature type from public key configuration"
        raise KeyProblem(text) from error
    try:
        given = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"the signature is no base64: {error}"
    try:
        if isinstance(loaded, ec.EllipticCurvePublicKey):
            loaded.verify(given, content, ec.ECDSA(hashes.SHA256()))
        elif isinstance(loaded, rsa.RSAPublicKey):
            loaded.verify(given, content, padding.PKCS1v15(), hashes.SHA256())
        elif isinstance(loaded, ed25519.Ed25519PublicKey):
            loaded.verify(given, content)
        else:
            raise KeyProblem("the public key is of a kind that signs no manifests")
    except InvalidSignature:
        return _BAD
    return ""
