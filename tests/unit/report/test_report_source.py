"""Sources of results in reports."""

import pytest

from kyvsim.model.report_source import report_source


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("ClusterPolicy", "kyverno"),
        ("Policy", "kyverno"),
        ("NamespacedGeneratingPolicy", "KyvernoGeneratingPolicy"),
        ("ImageValidatingPolicy", "KyvernoImageValidatingPolicy"),
        ("NamespacedMutatingPolicy", "KyvernoMutatingPolicy"),
        ("ValidatingPolicy", "KyvernoValidatingPolicy"),
        ("MutatingAdmissionPolicy", "MutatingAdmissionPolicy"),
        ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicy"),
    ],
)
def test_each_kind_of_policies_has_its_source(kind, source):
    assert report_source(kind) == source
