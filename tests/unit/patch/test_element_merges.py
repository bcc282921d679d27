"""Loops that merge into one element of a long list at a time: the same as merging each time."""

import json
import random
import sys

import pytest

from kyvsim.engine.pattern import compile_pattern
from kyvsim.patch.nodes import PatchError, read_back
from kyvsim.patch.strategic_merge import (
    ElementMerges,
    apply_strategic_merge,
    compile_strategic_merge,
)

NAMES = ("a", "b", "c", "d", "e", "*", "5", "")


def condition(pattern):
    check = compile_pattern(pattern)
    return lambda value: check(value) is None


def patcher(patch):
    merged = compile_strategic_merge(patch, condition)

    def patched(obj):
        changed = merged(obj)
        return obj if changed is obj else read_back(changed)

    return patched


def pod(*containers, **more):
    spec = {"containers": list(containers), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def one_by_one(obj, patches):
    for patch in patches:
        obj = patcher(patch)(obj)
    return obj


def by_elements(obj, patches):
    """Return the object after all patches, and how often all of it was merged."""
    merges, whole = ElementMerges(obj), []
    for patch in patches:
        merges.merge(patch, patcher(patch), lambda: whole.append(1), len)
    return merges.result, len(whole)


def shown(obj):
    return json.dumps(obj)  # 5 and 5.0 differ, so does the order of fields


def anchored(name, **more):
    return {"spec": {"containers": [{"(name)": name, **more}]}}


def plain(name, **more):
    return {"spec": {"containers": [{"name": name, **more}]}}


CONTAINERS = [{"name": name, "image": "x", "n": 5.0} for name in "abcd"]
CASES = {
    "conditions": [anchored(name, image="y") for name in "dcba"],
    "names": [plain(name, image="y") for name in "abcd"],
    "one element again and again": [anchored("b", **{f"f{n}": "y"}) for n in range(4)],
    "beside the list": [
        {"metadata": {"labels": {f"l{name}": name}}, **plain(name, tty=True)} for name in "dcba"
    ],
    "nested additions": [anchored(name, resources={"+(limits)": "x"}) for name in "dcba"],
    "lists in the element": [
        anchored(name, env=[{"name": "e", "value": name}]) for name in "dcbaab"
    ],
}


@pytest.mark.parametrize("patches", CASES.values(), ids=CASES)
def test_an_element_at_a_time_is_merged_as_all_of_the_object(patches):
    found, whole = by_elements(pod(*CONTAINERS), patches)
    assert shown(found) == shown(one_by_one(pod(*CONTAINERS), patches))
    assert whole == 1  # the first one


UNLIKE = {
    "a new element": [plain("a", tty=True), plain("z", tty=True)],
    "an element that goes": [plain("a", tty=True), plain("b", **{"$patch": "delete"})],
    "a wildcard": [plain("a", tty=True), anchored("*", image="y")],
    "two conditions": [plain("a", tty=True), {"spec": {"containers": [
        {"(name)": "b", "(image)": "x", "tty": True}]}}],
    "an addition": [plain("a", tty=True), anchored("b", **{"+(image)": "y"})],
    "a global condition": [plain("a", tty=True), {"spec": {"containers": [
        {"<(name)": "b", "tty": True}]}}],
    "two lists": [plain("a", tty=True), {"spec": {"volumes": [{"name": "v"}], "containers": [
        {"name": "b", "tty": True}]}}],
    "a list without names": [plain("a", tty=True), {"spec": {"tolerations": [{"key": "k"}]}}],
}  # fmt: skip


@pytest.mark.parametrize("patches", UNLIKE.values(), ids=UNLIKE)
def test_what_is_not_about_one_element_is_merged_as_a_whole(patches):
    found, whole = by_elements(pod(*CONTAINERS), patches)
    assert shown(found) == shown(one_by_one(pod(*CONTAINERS), patches))
    assert whole == 2


def random_patch(chance):
    key = chance.choice(("name", "(name)", "(name)", "(image)", "<(name)", "image"))
    element = {key: chance.choice(NAMES)}
    for _ in range(chance.randrange(3)):
        field = chance.choice(("image", "+(tty)", "(image)", "n", "env", "$patch", "name"))
        element[field] = chance.choice(
            ("x", "y", 5.0, None, [{"name": "e"}], {}, "delete", "merge")
        )
    path = chance.choice(("containers", "containers", "volumes", "tolerations"))
    patch = {"spec": {path: [element] * chance.choice((1, 1, 1, 2))}}
    if chance.randrange(4) == 0:
        patch["metadata"] = chance.choice(({"labels": {"+(a)": "b"}}, {"(name)": "q"}, None))
    return patch


def random_pod(chance):
    names = chance.sample(NAMES[:-1], chance.randrange(1, 6))
    made = [{"name": name, **({"n": 5.0} if chance.randrange(2) else {})} for name in names]
    if chance.randrange(5) == 0:
        made.append(chance.choice(({"image": "x"}, {"name": "a"}, {"name": 5.0}, None, {})))
    return pod(*made, volumes=[{"name": "v", "a": 1.0}, {"name": "a"}])


@pytest.mark.parametrize("seed", range(40))
def test_random_loops_end_as_if_each_patch_were_merged_into_all(seed):
    chance = random.Random(seed)
    for _ in range(50):
        obj = random_pod(chance)
        patches = [random_patch(chance) for _ in range(chance.randrange(1, 7))]
        wanted = ending(one_by_one, obj, patches)
        assert ending(lambda *given: by_elements(*given)[0], obj, patches) == wanted, (obj, patches)


def ending(run, *given):
    """Return the object that a run ends with, as text, or the error."""
    try:
        return shown(run(*given))
    except PatchError as error:
        return f"error: {error}"


def calls(count):
    """Return how many calls a loop over so many containers makes."""
    obj = pod(*({"name": f"c{n}", "image": "x"} for n in range(count)))
    made = 0

    def profile(*_):
        nonlocal made
        made += 1

    patches = [anchored(f"c{n}", image="y") for n in reversed(range(count))]
    patchers = [patcher(patch) for patch in patches]
    merges = ElementMerges(obj)
    sys.setprofile(profile)
    try:
        for patch, merged in zip(patches, patchers, strict=True):
            merges.merge(patch, merged, int, len)
        merges.result  # noqa: B018 — worked out when it is read
    finally:
        sys.setprofile(None)
    return made


def test_the_work_grows_with_the_elements():
    apply_strategic_merge({}, pod(), condition)  # read the tables
    assert calls(400) < 2.5 * calls(200)
