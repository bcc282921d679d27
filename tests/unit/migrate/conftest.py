"""Rules as they are written and as they are converted, on the same objects."""

import json

import pytest

from kyvsim.kubernetes.objects import text_field
from kyvsim.languages import READERS
from kyvsim.load.policy import load_policies
from kyvsim.migrate import convert
from kyvsim.model.migration import ConversionOutcome
from kyvsim.model.source import Document, Location
from kyvsim.report.migrate import document_yaml

DENIALS = {"fail", "error"}


def _read(data):
    document = Document(data, "made.yaml", 0, lambda _: Location("made.yaml", 1, 1))
    (found,), remarks = load_policies([document], READERS)
    assert remarks == ()
    return found


def _unordered(value):
    if isinstance(value, dict):
        return {name: _unordered(one) for name, one in value.items()}
    if isinstance(value, list):
        return sorted(map(_unordered, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value


def _is_denied(response):
    return any(row.status.value in DENIALS for one in response.responses for row in one.results)


@pytest.fixture
def read_policy():
    """Return what reads the data of a policy."""
    return _read


@pytest.fixture
def converted(policy):
    """Return what converts a rule: the outcome of the rule, and the policies made of it."""

    def convert_rule(rule, **spec):
        conversion = convert(policy(rule, **spec), document_yaml)
        return conversion.rules[0], [dict(one.data) for one in conversion.made]

    return convert_rule


@pytest.fixture
def expression(converted):
    """Return what gives the expression that a rule becomes."""

    def expression_of(rule, **spec):
        told, made = converted(rule, **spec)
        assert told.outcome is not ConversionOutcome.REFUSED, told.reason
        return made[0]["spec"]["validations"][0]["expression"]

    return expression_of


@pytest.fixture
def denials(policy, run, converted):
    """Return what tells which objects a rule denies, which its conversion has to deny, too."""

    def denied_by(rule, objects, **spec):
        _, made = converted(rule, **spec)
        old = policy(rule, **spec)
        new = [_read(one) for one in made]
        found = []
        for one in objects:
            before, after = _is_denied(run([old], one)), _is_denied(run(new, one))
            assert after is before, one
            if before:
                found.append(text_field(one["metadata"], "name"))
        return found

    return denied_by


@pytest.fixture
def patched(policy, run, converted):
    """Return what a rule, and its conversion in the same way, makes of an object.

    None where they deny it. The order of lists is left open.
    """

    def patched_by(rule, obj, **spec):
        told, made = converted(rule, **spec)
        assert told.outcome is not ConversionOutcome.REFUSED, told.reason
        old, new = run([policy(rule, **spec)], obj), run([_read(one) for one in made], obj)
        assert _is_denied(new) is _is_denied(old), obj
        if _is_denied(old):
            return None
        assert _unordered(new.object) == _unordered(old.object)
        return new.object

    return patched_by
