"""What patching raises."""


class PatchError(Exception):
    """A patch that does not apply; `message` is worded as the reference words it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FailedTestError(PatchError):
    """A `test` of a JSON patch that finds something else."""


class UnreadableObjectError(Exception):
    """A patched document that is no Kubernetes object any more.

    The reference shows `message` after `failed to unmarshal patched resource: `, not after
    `failed to patch resource: ` as that of a PatchError.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
