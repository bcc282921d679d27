"""What expressions have wrong is what Kubernetes' type checker finds."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kyvsim.kubernetes.discovery import NO_KINDS
from kyvsim.languages.native.type_checking import MatchedResources, type_checker
from kyvsim.policy.cel_policy import read_cel_policy

RECORDED: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("type_warnings.jsonl").read_text("utf-8").splitlines()
]
_NUMBERED = re.compile(r"(?<=[(, ])([A-Z][A-Za-z]+)\d+(?=[.,)])")
"""The name of a type, which upstream ends with the time."""


@pytest.mark.parametrize("recorded", RECORDED)
def test_warnings_are_those_of_the_type_checker(recorded: dict[str, Any]) -> None:
    spec = read_cel_policy(recorded["spec"])
    matched = (
        MatchedResources(one.api_groups, one.api_versions, one.resources)
        for one in spec.resource_rules
    )
    checker = type_checker(matched, spec.param_kind, spec.variables, NO_KINDS)
    assert [
        {"fieldRef": f"spec.validations[{index}].{field}", "warning": _NUMBERED.sub(r"\1", text)}
        for index, field, text in checker.warnings(spec.validations)
    ] == [{**one, "warning": _NUMBERED.sub(r"\1", one["warning"])} for one in recorded["warnings"]]
