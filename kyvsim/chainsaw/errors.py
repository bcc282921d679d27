"""How an operation ends that does not succeed."""


class FailedError(Exception):
    """An operation that failed; the text says why, as chainsaw's `$error` does."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class HardError(FailedError):
    """A failure that is not retried, such as an expression that cannot be evaluated."""


class UnsupportedError(Exception):
    """Something that the simulation does not do; the text says what."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
