"""What expressions in CEL cost is what they cost in cel-go, to the step."""

import json
from pathlib import Path
from typing import Any

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.cel.program import compile_expression
from kyvsim.cel.types import DYN
from kyvsim.kubernetes.quantities import with_floats

RECORDED: dict[str, Any] = json.loads(
    Path(__file__).with_name("cel_costs.json").read_text(encoding="utf-8")
)
OBJECT = with_floats(RECORDED["object"])
ENV = kyverno_environment("ValidatingPolicy", lambda: 0, lambda _: b"")._replace(
    variables=(("object", DYN),)
)


def left_of(text: str) -> int:
    """Return the steps that an evaluation leaves; those of a text without loops are not counted."""
    program = compile_expression(text, ENV)
    frame = [program.limit, OBJECT, *[None] * program.slots]
    program.run(frame)
    return frame[0]


def test_expressions_cost_what_upstream_counts() -> None:
    recorded = RECORDED["costs"]
    assert len(recorded) > 500
    assert {text: ENV.limit - left_of(text) for text in recorded} == recorded
