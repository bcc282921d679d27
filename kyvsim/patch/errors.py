"""What patching raises."""


class PatchError(Exception):
    """A patch that does not apply; `message` is worded as the reference words it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
