"""Messages that nobody sees, because a message expression stands beside them.

upstream: pkg/cel/policies/vpol/compiler/policy.go
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic


def unshown_messages(written: Written) -> Iterator[Diagnostic]:
    """KV249: a `message` beside a `messageExpression`."""
    for index, one in enumerate(written.spec.get("validations") or ()):
        if one.get("message") and (one.get("messageExpression") or "").strip():
            text = (
                "this message is never shown: `messageExpression` counts, also where it cannot be "
                "evaluated"
            )
            path = ("spec", "validations", index, "message")
            yield warn(written.policy.document, "KV249", text, path)
