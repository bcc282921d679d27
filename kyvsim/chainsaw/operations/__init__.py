"""The operations of steps; `OPERATIONS` lists them."""

from kyvsim.chainsaw.operations import asserting, scripting, writing
from kyvsim.chainsaw.session import TestOperation

OPERATIONS: tuple[TestOperation, ...] = (
    writing.APPLY,
    writing.CREATE,
    writing.UPDATE,
    writing.PATCH,
    writing.DELETE,
    asserting.ASSERT,
    asserting.ERROR,
    asserting.SLEEP,
    asserting.WAIT,
    scripting.SCRIPT,
    scripting.COMMAND,
    *asserting.SHOWING,
)
"""Every operation that the simulation performs."""
