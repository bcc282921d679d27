"""Runs of rules whose context has one entry, `got`, and which fail with what it holds."""

import json

import pytest

from kyvsim.model.values import CallAnswer, Mocks, Values


@pytest.fixture
def rule():
    """Return what makes a rule that fails with what its entry `got` holds."""

    def made(**entry):
        condition = {"key": "{{ got || '' }}", "operator": "NotEquals", "value": "never"}
        deny = {"conditions": {"all": [condition]}}
        return {
            "context": [{"name": "got", **entry}],
            "validate": {"message": "got {{ got }}", "deny": deny},
        }

    return made


@pytest.fixture
def ask(rule, run, verdicts, pod, thing):
    """Return what gives the value of an entry, or the reason why it has none."""
    maps = [
        thing("ConfigMap", "b", data={"k": "2"}),
        thing("ConfigMap", "a", labels={"x": "y"}, data={"k": "1"}),
        thing("ConfigMap", "c", "bank"),
    ]

    def asked(values=None, given=maps, **entry):
        ((_, status, message),) = verdicts(run(rule(**entry), pod(), given=given, values=values))
        if status == "fail":
            found = message.removeprefix("got ")
            return json.loads(found) if found[:1] in "[{" else found
        assert status == "error"
        return message.partition(" at path : ")[2]

    return asked


@pytest.fixture
def mocked():
    """Return what makes values of answers to calls, and of global data by name."""

    def made(*calls, **data):
        answers = {key: CallAnswer(status, body) for key, status, body in calls}
        return Values(mocks=Mocks(answers, data))

    return made
