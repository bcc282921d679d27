"""A baseline as a file that people read, and review where it changes."""

from collections.abc import Iterator, Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.baseline import Failure
from kyvsim.report.object_yaml import yaml_lines
from kyvsim.report.subject import identity_of

_HEAD = """\
# Failures that are known: `kyvsim apply --baseline` passes them, and fails new ones.
# `kyvsim apply --write-baseline` writes this file. Each failure has one entry, in order.
apiVersion: kyvsim/v1
kind: Baseline
"""


def baseline_text(failures: Mapping[Failure, int]) -> Iterator[str]:
    """Yield the file of failures with their numbers, an entry at a time, sorted."""
    yield _HEAD
    yield "failures:\n" if failures else "failures: []\n"
    for failure in sorted(failures):
        lead = "- "
        for field in _fields(failure, failures[failure]):
            yield "\n".join([*yaml_lines(field, lead, 2), ""])
            lead = "  "


def _fields(failure: Failure, number: int) -> Iterator[dict[str, Json]]:
    """Yield the fields of an entry in the order in which people read them."""
    yield {"policy": failure.policy}
    if failure.rule:
        yield {"rule": failure.rule}
    yield {"resource": {name: text for name, text in identity_of(failure.object).items() if text}}
    yield {"result": failure.result}
    if failure.path:
        yield {"path": failure.path}
    elif failure.message:
        yield {"message": failure.message}
    if number > 1:
        yield {"count": number}
