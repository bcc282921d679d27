"""What expressions of rules read, as far as their texts tell."""

import json
import re
from functools import cache

from kyvsim.model.policy import Rule


def reads_own_name(rule: Rule) -> bool:
    """Return whether a mutate rule reads the name of its trigger."""
    return bool(_own_name().search(json.dumps(rule.data.get("mutate"))))


@cache
def _own_name() -> re.Pattern[str]:
    return re.compile(r"\{\{[^}]*request\.(object\.metadata\.name|name)\b")
