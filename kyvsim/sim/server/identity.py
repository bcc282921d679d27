"""Uids and generated names: chance that is the same in every run.

Source of the rules: k8s.io/apiserver pkg/storage/names.
"""

import uuid

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_BASE = 58
_SPACE = uuid.UUID("6b797673-696d-5000-8000-000000000000")


class Identities:
    """Gives out uids and suffixes; the same seed gives the same ones in the same order."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._count = 0

    def uid(self) -> str:
        """Return a uid that nothing else has."""
        return str(self._next())

    def generated_name(self, base: str) -> str:
        """Return a name that begins as `base` does, five characters longer."""
        number, suffix = self._next().int, ""
        for _ in range(5):
            number, index = divmod(number, len(_ALPHABET))
            suffix += _ALPHABET[index]
        return base[:_LONGEST_BASE] + suffix

    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to and without `bound`: an `Entropy`."""
        return self._next().int % bound

    def _next(self) -> uuid.UUID:
        self._count += 1
        return uuid.uuid5(_SPACE, f"{self._seed}/{self._count}")
