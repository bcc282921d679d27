from pathlib import Path

from kyvsim.testing import verdicts

POLICIES = Path(__file__).parents[2] / "policies/autogen/no-controllers.yaml"


def pod(image):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop"},
        "spec": {"containers": [{"name": "shop", "image": image}]},
    }


def test_an_image_with_a_version_passes():
    assert [one.result for one in verdicts(POLICIES, pod("shop:1.8"))] == ["pass"]


def test_latest_is_refused():
    (verdict,) = verdicts(POLICIES, pod("shop:latest"))
    assert verdict.rule == "no-latest"
    assert verdict.result == "fail"
    assert "needs a tag other than latest" in verdict.message
