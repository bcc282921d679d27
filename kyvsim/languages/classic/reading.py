"""What expressions of rules read, as far as their texts tell."""

import json
import re

from kyvsim.model.policy import Rule

_OWN_NAME = re.compile(r"\{\{[^}]*request\.(object\.metadata\.name|name)\b")


def reads_own_name(rule: Rule) -> bool:
    """Return whether a mutate rule reads the name of its trigger."""
    return bool(_OWN_NAME.search(json.dumps(rule.data.get("mutate"))))
