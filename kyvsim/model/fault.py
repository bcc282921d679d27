"""What is said of a fault that nobody foresaw: one bad thing never costs the rest.

Where something of a user's is worked on (a policy, a rule, an object) a fault becomes that thing's
error, with these words, and the run goes on. Nothing with a fault counts as passed.
"""

from kyvsim.kubernetes.objects import MAX_DEPTH
from kyvsim.model.ports import BudgetError


def fault_text(error: Exception) -> str:
    """Return what to say of an exception that is no error of evaluation."""
    if isinstance(error, BudgetError):
        return str(error)
    if isinstance(error, RecursionError):
        return f"it is nested too deeply (more than {MAX_DEPTH} deep is not read)"
    if isinstance(error, MemoryError):
        return "it takes more memory than there is"
    cause = " ".join(str(error).split())[:200]
    shown = f"{type(error).__name__}: {cause}" if cause else type(error).__name__
    return f"internal error in kyvsim, please report it: {shown}"
