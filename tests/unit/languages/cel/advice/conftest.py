"""What asks `lint` about a policy in CEL."""

import json

import pytest

from kyvsim.api.lint import lint


@pytest.fixture
def written(tmp_path):
    """Return what gives codes and messages of what is said of a policy."""

    def ask(kind, spec):
        head = {"apiVersion": "policies.kyverno.io/v1", "kind": kind, "metadata": {"name": "p"}}
        file = tmp_path / "p.json"
        file.write_text(json.dumps({**head, "spec": spec}))
        return [(one.code, one.message) for one in lint([str(file)]).diagnostics]

    return ask
