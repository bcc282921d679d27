from pathlib import Path

from kyvsim.testing import apply_policies

ROOT = Path(__file__).parents[2]


def test_namespaces(assert_golden):
    effects = apply_policies(
        ROOT / "policies/namespace-team", ROOT / "fixtures/resources/namespaces.yaml"
    )
    assert_golden(effects, "namespaces.golden.yaml")
