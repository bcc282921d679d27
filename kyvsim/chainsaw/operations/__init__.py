"""The operations of steps; `OPERATIONS` lists them."""

from kyvsim.chainsaw.operations import (
    apply,
    asserting,
    create,
    delete,
    patch,
    scripting,
    sleep,
    update,
    wait,
    watching,
)
from kyvsim.chainsaw.operations.protocol import Operation

OPERATIONS: tuple[Operation, ...] = (
    apply.OPERATION,
    create.OPERATION,
    update.OPERATION,
    patch.OPERATION,
    delete.OPERATION,
    asserting.ASSERT,
    asserting.ERROR,
    sleep.OPERATION,
    wait.OPERATION,
    scripting.SCRIPT,
    scripting.COMMAND,
    *watching.OPERATIONS,
)
"""Every operation that the simulation performs."""
