import pytest

from kyvsim.linting.runs import SEVERITY, meaningless_annotations
from kyvsim.policy.autogen import ANNOTATION


def give(policy):
    return meaningless_annotations([policy])


@pytest.mark.parametrize(
    ("key", "value", "code", "start"),
    [
        (SEVERITY, "Medium", "KV217", "`Medium` is not a severity"),
        (SEVERITY, "", "KV217", "`` is not a severity"),
        (ANNOTATION, "Deployment, Job", "KV218", "` Job` is not a Pod controller"),
        (ANNOTATION, "deployment", "KV218", "`deployment` is not a Pod controller"),
        (ANNOTATION, "none,Job", "KV218", "`none` is not a Pod controller"),
        (ANNOTATION, "Deployments", "KV218", "`Deployments` is not a Pod controller"),
    ],
)
def test_fires(remarks, key, value, code, start):
    ((found, path, message),) = remarks(give, {}, annotations={key: value})
    assert (found, path) == (code, f"metadata/annotations/{key}")
    assert message.startswith(start)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *((SEVERITY, one) for one in ("critical", "high", "medium", "low", "info")),
        *((ANNOTATION, one) for one in ("none", "", "Deployment,CronJob,Job,StatefulSet")),
        ("policies.kyverno.io/title", "Medium"),
    ],
)
def test_leaves_alone(remarks, key, value):
    assert remarks(give, {}, annotations={key: value}) == []
