"""What a control finds in a Pod."""

import pytest

from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages.classic.pod_security.controls import active_checks, read_pod
from kyvsim.languages.classic.pod_security.go_structs import read_object


@pytest.fixture
def found():
    """Return `[(field, value), …]` that a control finds; fields stand without their `spec.`."""

    def ask(control, spec, annotations=None, version="latest"):
        pod = {"metadata": {"annotations": annotations or {}}, "spec": spec}
        read = read_object(with_floats(pod), "v1.Pod")
        (check,) = (one.check for one in active_checks("restricted", version) if one.id == control)
        violation = check(read_pod(read["metadata"]["annotations"], read["spec"]))
        if violation is None:
            return None
        return [
            (one.field.removeprefix("spec."), "required" if one.required else one.value)
            for one in violation.findings
        ]

    return ask
