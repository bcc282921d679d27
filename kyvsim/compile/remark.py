"""How a warning about a place of a document is made."""

from kyvsim.model.diagnostic import Diagnostic, Fix, Severity
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document, Path


def warn(
    document: Document, code: str, message: str, path: Path = (), *, fix: Fix | None = None
) -> Diagnostic:
    """Return a warning about the node at `path` of a document, and what would put it right."""
    return Diagnostic(code, Severity.WARNING, message, document.locate(path), fix=fix)


def uncompiled(policy: Policy, error: Exception | str) -> Diagnostic:
    """Return that a policy cannot be compiled, and why.

    KV190: an expression or another text of the policy cannot be read.
    """
    message = f"policy `{policy.key}` can't be compiled: {error}"
    return Diagnostic("KV190", Severity.ERROR, message, policy.document.locate(("spec",)))
