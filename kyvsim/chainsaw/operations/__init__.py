"""The operations of steps; `OPERATIONS` lists them."""

from kyvsim.chainsaw.operations import asserting, scripting, waiting, writing
from kyvsim.chainsaw.operations.protocol import Operation

OPERATIONS: tuple[Operation, ...] = (
    writing.APPLY,
    writing.CREATE,
    writing.UPDATE,
    writing.PATCH,
    writing.DELETE,
    asserting.ASSERT,
    asserting.ERROR,
    waiting.SLEEP,
    waiting.WAIT,
    scripting.SCRIPT,
    scripting.COMMAND,
    *waiting.SHOWING,
)
"""Every operation that the simulation performs."""
