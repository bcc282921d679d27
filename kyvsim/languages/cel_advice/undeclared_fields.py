"""Fields that an apply configuration sets and no schema has.

upstream: sigs.k8s.io/structured-merge-diff/v6 typed/validate.go
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.matched_kinds import changed_types
from kyvsim.languages.cel_advice.set_fields import set_fields
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic


def undeclared_fields(written: Written) -> Iterator[Diagnostic]:
    """KV259: a field in an apply configuration that none of the policy's kinds has."""
    types = changed_types(written)
    if not types:
        return
    for one in written.expressions:
        for name, found in set_fields(one, types):
            if not any(found):
                text = (
                    f"none of the kinds that the policy names has the field `{name}`: where it is "
                    "set the policy ends in an error"
                )
                yield warn(written.policy.document, "KV259", text, one.path)
