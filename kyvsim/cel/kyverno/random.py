"""Random texts.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/random; without a pattern there are
eight digits and small letters.
"""

from collections.abc import Iterator

from kyvsim.cel.environment import Function, Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.kubernetes.go_random_text import Chance, make_random
from kyvsim.kubernetes.regexes import RegexError
from kyvsim.model.ports import Entropy, Meter

_ANY = "[0-9a-z]{8}"


def random_library(entropy: Entropy) -> Library:
    """Return the functions that draw from `entropy`."""

    def random(pattern: str = _ANY) -> str:
        try:
            return make_random(pattern, Chance(entropy.below, Meter().spend))
        except RegexError as error:
            raise CelError(str(error)) from None

    def functions() -> Iterator[Function]:
        for name in ("random", "random.random"):
            yield function(name, way("(string) -> string", random), way("() -> string", random))

    return Library("random", tuple(functions()))
