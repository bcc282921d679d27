"""Entries of policy reports."""

import json

import pytest

from kyvsim.api.apply import render_document
from kyvsim.languages.cel.facts import policy_facts
from kyvsim.model.result import (
    EngineResponse,
    Phase,
    PolicyResponse,
    RuleStatus,
    report_process,
    report_properties,
    report_source,
)
from kyvsim.policy.cel_policy import read_cel_policy
from kyvsim.report.policy_objects import begin_report_json
from kyvsim.report.style import RenderOptions

# What reports say of results: sources, and properties as `apply --policy-report` shows them.


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


OFF = {"background": {"enabled": False}}


@pytest.mark.parametrize(
    ("kind", "evaluation", "process"),
    [
        ("ValidatingPolicy", {}, "background scan"),
        ("NamespacedValidatingPolicy", OFF, "admission review"),
        ("MutatingPolicy", {**OFF, "admission": {"enabled": False}}, ""),
        ("GeneratingPolicy", {}, "admission review"),
        ("NamespacedGeneratingPolicy", {"admission": {"enabled": False}}, "admission review"),
        ("NamespacedDeletingPolicy", {}, ""),
    ],
)
def test_results_tell_when_they_come_about(make, kind, evaluation, process):
    facts = policy_facts(kind, read_cel_policy({"evaluation": evaluation}))
    policy = make.policy("p", "r")._replace(kind=kind, facts=facts)
    assert report_process(policy) == process


def test_properties_tell_annotations_exceptions_and_process(make):
    policy = make.policy("p", "r")
    result = make.result(
        policy, Phase.VALIDATE, RuleStatus.SKIP, properties={"k": "v"}, exceptions=("n/a", "b")
    )
    expected = {"exceptions": "a,b", "k": "v", "process": "background scan"}
    assert report_properties(policy, result) == expected
    response = EngineResponse(
        make.pod("a"), make.pod("a"), (PolicyResponse(policy, Phase.VALIDATE, {}, (result,)),)
    )
    text = "".join(render_document(begin_report_json, make.run([response]), RenderOptions()))
    (entry,) = json.loads(text)["results"]
    assert list(entry["properties"].items()) == list(expected.items())


def test_reports_leave_out_what_is_empty(make):
    policy = make.policy("p", "")
    result = make.result(policy, Phase.VALIDATE, RuleStatus.PASS)._replace(message="")
    response = EngineResponse(
        make.pod("a"), make.pod("a"), (PolicyResponse(policy, Phase.VALIDATE, {}, (result,)),)
    )
    (entry,) = json.loads(
        "".join(render_document(begin_report_json, make.run([response]), RenderOptions()))
    )["results"]
    assert {"message", "rule"}.isdisjoint(entry)
    assert {"policy", "properties", "resources", "result", "scored", "source"} <= entry.keys()
