"""What comes of a patch: an error, or the object, read back."""

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.numbers import with_whole_numbers
from kyvsim.kubernetes.objects import Json, text_field

# What patching raises.


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


# Reading a patched object back: whole floats become ints, and it must still be an object.
#
# upstream: `pkg/engine/mutate/mutation.go` reads the patched JSON text with apimachinery's
# `UnstructuredJSONScheme`, which makes an int64 of every number written without fraction and
# exponent that fits, and refuses what has no kind.


def read_back(patched: Json) -> Json:
    """Return the object that a patched document is, with whole numbers as ints.

    Raises UnreadableObjectError for what is no object, has no kind, or no proper apiVersion.
    """
    if patched.__class__ is not dict:
        message = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        raise UnreadableObjectError(message)
    if not text_field(patched, "kind") or text_field(patched, "apiVersion").count("/") > 1:
        raise UnreadableObjectError(f"Object 'Kind' is missing in '{to_json(patched)}'")
    return with_whole_numbers(patched)
