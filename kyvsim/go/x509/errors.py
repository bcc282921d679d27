"""What is wrong with a certificate."""


class CertificateError(Exception):
    """A certificate or request that cannot be read; the message is Go's."""
