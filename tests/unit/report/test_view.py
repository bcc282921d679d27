"""The view of `apply`: what it tells of a run that has every status."""

from kyvsim.api.apply import render_document
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.style import RenderOptions, Show


def shown(run, **look):
    return "".join(render_document(FORMATS["text"].write, run, RenderOptions(**look)))


def failing(make, name, message, **fields):
    policy = make.policy("checks", "image")
    pod = make.pod(name)
    result = RuleResult(policy.rules[0], Phase.VALIDATE, RuleStatus.FAIL, message, **fields)
    answer = PolicyResponse(policy, Phase.VALIDATE, pod, (result,))
    return EngineResponse(pod, pod, (answer,), make.document(pod, "pods.yaml"))


def test_failures_have_the_message_of_kyverno_and_the_place_of_the_rule(make):
    said = "validation error: tag needed. rule image failed at path /spec/"
    run = make.run([failing(make, "web", said, own="tag needed", path="/spec/")], resource_count=1)
    text = shown(run)
    assert f"  FAIL  checks / image\n        {said}\n" in text
    assert "        pods.yaml:2:3\n        rule: checks.yaml:4:3\n" in text


def test_results_in_the_words_of_the_policy_are_alike_whatever_path_kyverno_adds(make):
    said = "validation error: tag needed. rule image failed at path /spec/containers/{}/image/"
    responses = [
        failing(make, name, said.format(index), own="tag needed")
        for index, name in enumerate(("web", "db", "cache"))
    ]
    text = shown(make.run(responses))
    assert text.count("validation error: tag needed.") == 1
    assert "        tag needed\n        the same for 2 more objects:" in text


def test_a_message_without_words_of_the_policy_is_told_whole(make):
    run = make.run([failing(make, "web", "validation error: rule image failed")])
    assert "        validation error: rule image failed\n" in shown(run)


def test_what_is_said_of_the_name_alone_is_alike(make):
    names = ("web", "db", "cache")
    responses = [failing(make, name, f"{name} in shop needs a tag") for name in names]
    text = shown(make.run(list(responses)))
    assert text.count("needs a tag") == 2
    assert "the same for 2 more objects:" in text
    text = shown(make.run(list(responses)), show=Show.ALL)
    assert text.count("needs a tag") == 3
    assert "The same again" not in text


def test_no_line_is_wider_than_asked(menagerie):
    for width in (80, 100):
        lines = shown(menagerie(), width=width).splitlines()[2:]
        assert max(map(len, lines)) <= width


def test_control_characters_reach_no_terminal(make):
    evil = "a\x1b]0;owned\x07\u202e\r"
    response = failing(make, evil, f"message {evil}", note=evil, own=evil)
    for show in Show:
        text = shown(make.run([response]), show=show)
        assert not any(one in text for one in "\x1b\x07\u202e\r")


def test_the_view_of_whole_objects_is_another_one(menagerie):
    assert "mutated by policy inject" in shown(menagerie(), show=Show.OBJECTS)
    text = shown(menagerie())
    assert "  edit  inject / add-volume" in text
    assert "        + volumes:\n" in text or "        +   volumes:\n" in text
    assert "apiVersion: v1" not in text


def test_rules_that_found_fault_are_counted(menagerie):
    lines = shown(menagerie()).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("By rule"))
    assert lines[at].split() == ["By", "rule", "fail", "warn", "error", "pass", "skip"]
    total = next(line for line in lines[at:] if line.startswith("  all "))
    assert total.split()[-5:] == ["1", "1", "1", "2", "1"]


def test_a_run_that_passes_has_no_table(make):
    assert shown(make.run([], rule_count=1, resource_count=3)) == (
        "Applying 1 policy rule to 3 resources\n\n"
    )


def test_details_tell_passes_and_skips_too(menagerie):
    assert "preconditions not met" not in shown(menagerie())
    text = shown(menagerie(), detailed=True)
    assert "  skip  checks / image\n        preconditions not met\n" in text


def test_colours_are_there_when_asked_for(menagerie):
    assert "\x1b" not in shown(menagerie())
    assert "\x1b[31mFAIL\x1b[0m" in shown(menagerie(), colours=True)
