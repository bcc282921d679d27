"""Conditions of policies: tests under names of which none comes twice."""

from collections.abc import Sequence

from kyvsim.migrate.expressions import TRUE, All, Test, laid_out


def named_conditions(name: str, test: Test) -> list[tuple[str, Test]]:
    """Return a test as conditions: one for each part that has to hold."""
    if test == TRUE:
        return []
    parts = test.parts if isinstance(test, All) else (test,)
    return [(name, one) for one in parts]


def written_conditions(
    conditions: Sequence[tuple[str, Test | str]],
) -> tuple[tuple[str, str], ...]:
    """Return conditions as texts; a name that comes again gets a number."""
    found: dict[str, str] = {}
    for name, test in conditions:
        free, number = name, 2
        while free in found:
            free, number = f"{name}-{number}", number + 1
        found[free] = test if isinstance(test, str) else laid_out(test)
    return tuple(found.items())
