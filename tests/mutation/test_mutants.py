"""The mutants of a small text: each changes what it says it does, and nothing else."""

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutants import mutants, mutated

TEXT = '''"""Says nothing that runs."""
import os
__all__ = ["f"]

@cache(9)
def f(a: "int" = 1) -> "str":
    """Nor does this."""
    while a < 2 and not os:
        for b in [c for c in a if c]:
            if b:
                continue
            break
        a += 1
        g(cast("T", -b))
    raise E
    return f"{a}x" + "y"
'''
CHANGES = [
    (6, "1 to 2", "a: 'int'=2"),
    (8, "And to Or", "a < 2 or not os"),
    (8, "Lt to LtE", "a <= 2 and"),
    (8, "2 to 3", "a < 3 and"),
    (8, "Not dropped", "and os:"),
    (9, "condition turned round", "if not c]"),
    (10, "condition turned round", "if not b:"),
    (11, "continue to break", "if b:\n                break"),
    (12, "break to continue", "continue\n        a += 1"),
    (13, "statement dropped", "pass\n        g("),
    (13, "1 to 2", "a += 2"),
    (14, "statement dropped", "a += 1\n        pass"),
    (15, "statement dropped", "pass\n    return"),
    (16, "returns None", "return None"),
    (16, "Add to Sub", "- 'y'"),
    (16, "'x' with more", "x~"),
    (16, "'y' with more", "'y~'"),
]


def test_each_mutant_is_one_change():
    found = mutants(TEXT)
    assert [(one.line, one.change) for one in found] == [row[:2] for row in CHANGES]
    for one, (_, _, text) in zip(found, CHANGES, strict=True):
        assert text in ast.unparse(mutated(TEXT, one.number))
        assert text not in ast.unparse(ast.parse(TEXT))
