"""How much faster than jmespath's own interpreter are our closures? Run as a script.

Prints one ratio for each of the three commonest shapes, both sides measured in this run, and exits
with 1 where one is below the bar.
"""

import sys
from datetime import UTC, datetime
from timeit import repeat

import jmespath

from kyvsim.jmespath import System, compile_query
from kyvsim.model.ports import Meter

BAR = 5.0
SHAPES = (
    ("field chain", "request.object.metadata.labels.app"),
    ("projection", "request.object.spec.containers[].image"),
    (
        "filter",
        "request.object.spec.containers[?securityContext.allowPrivilegeEscalation==`true`].name",
    ),
)
CONTAINERS = [
    {
        "name": f"c{place}",
        "image": f"registry.example/team/app:{place}",
        "securityContext": {"allowPrivilegeEscalation": place % 2 == 0},
    }
    for place in range(3)
]
DATA = {
    "request": {
        "operation": "CREATE",
        "object": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": CONTAINERS}},
    }
}


class Still:
    """A clock and a chance that never move."""

    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC)

    def below(self, bound):
        return bound - 1


def seconds(call):
    """Return the best of some timings of many calls."""
    return min(repeat(call, number=4000, repeat=7))


def ratio(expression):
    theirs = jmespath.compile(expression)
    ours = compile_query(expression, System(Still(), Still(), Meter())).evaluate
    if theirs.search(DATA) != ours(DATA):
        raise SystemExit(f"different answers for {expression}")
    return seconds(lambda: theirs.search(DATA)) / seconds(lambda: ours(DATA))


def main():
    ratios = [(name, ratio(expression)) for name, expression in SHAPES]
    print("  ".join(f"{name} {times:.1f}x" for name, times in ratios))
    return int(any(times < BAR for _, times in ratios))


if __name__ == "__main__":
    sys.exit(main())
