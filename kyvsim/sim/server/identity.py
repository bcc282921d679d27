"""Uids and generated names: chance that is the same in every run.

Source of the rules: k8s.io/apiserver pkg/storage/names.
"""

import hashlib

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 58


class Identities:
    """Gives out uids and suffixes; the same seed gives the same ones for the same things.

    What a thing gets depends on what it is and on how many alike there were, not on what else
    happened before: a run in another order of steps has the same names.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._counts: dict[tuple[str, ...], int] = {}

    def uid(self, *thing: str) -> str:
        """Return a uid that nothing else has."""
        digits = f"{self._next('uid', *thing):032x}"
        first, second, third = digits[:8], digits[8:12], digits[13:16]
        # Version 5 and the common variant, as of a uuid that is made of a hash.
        return f"{first}-{second}-5{third}-8{digits[17:20]}-{digits[20:]}"

    def generated_name(self, base: str, *place: str) -> str:
        """Return a name that begins as `base` does, five characters longer."""
        number, suffix = self._next("name", base, *place), ""
        for _ in range(5):
            number, index = divmod(number, len(_ALPHABET))
            suffix += _ALPHABET[index]
        return base[:_LONGEST_BASE] + suffix

    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to and without `bound`: an `Entropy`."""
        return self._next("number") % bound

    def _next(self, *thing: str) -> int:
        count = self._counts[thing] = self._counts.get(thing, 0) + 1
        text = "/".join((str(self._seed), *thing, str(count)))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16])
