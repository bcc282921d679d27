"""Users in policies that background scans evaluate, where nobody sends a request.

upstream: pkg/controllers/report/utils/scanner.go
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written, selected
from kyvsim.model.diagnostic import Diagnostic

_USER = "request.userInfo."


def scanned_users(written: Written) -> Iterator[Diagnostic]:
    """KV251: a field of the user's in a policy that background scans evaluate."""
    background = (written.spec.get("evaluation") or {}).get("background") or {}
    if written.kind != "ValidatingPolicy" or background.get("enabled") is False:
        return
    for one in written.expressions:
        names = (selected(node) for node in one.nodes())
        for name in dict.fromkeys(name for name in names if name.startswith(_USER)):
            if name.count(".") == 2 and not written.asks_for(name):
                text = (
                    f"`{name}` has no value in background scans, nor where no user is given: set "
                    "`spec.evaluation.background.enabled: false`, or ask with `has`"
                )
                yield warn(written.policy.document, "KV251", text, one.path)
