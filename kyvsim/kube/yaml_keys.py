"""What becomes of a key that a YAML map has twice."""

from enum import Enum


class Keys(Enum):
    """What becomes of a key that is in one map twice."""

    LAST_WINS = 0
    ONCE = 1
    """It is refused, unless one of the two came by a merge (`<<`), which a map may override."""
    STRICT = 2
    """It is refused, one that came by a merge too."""
