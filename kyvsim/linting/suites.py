"""Checks of test manifests: rows and values for what their files do not contain."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import KubernetesObject, contains_text, object_key
from kyvsim.linting.references import unused_values
from kyvsim.model.diagnostic import Diagnostic, likely, listed
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.suite import Manifest
from kyvsim.model.values import Values


class TestInputs(NamedTuple):
    """A test manifest with what was read of its files."""

    manifest: Manifest
    resources: tuple[KubernetesObject, ...] = ()
    """The objects that rows can name; none if some of its files were not read."""
    policies: tuple[Policy, ...] = ()
    """Its policies; none if some of its files were not read."""
    values: Values | None = None


def row_problems(tests: Iterable[TestInputs]) -> Iterator[Diagnostic]:
    """KV042: rows for missing resources or rules, or with different results for one resource."""
    for test in tests:
        yield from _contradicting_rows(test.manifest)
        yield from _rules_of_policies_without(test)
        for obj in test.resources:
            if object_key(obj).kind == "PolicyException":
                text = (
                    f"the PolicyException `{object_key(obj).name}` has no effect among the "
                    "resources: move its file to `exceptions`"
                )
                yield warn(test.manifest.document, "KV042", text, ("resources",))
        if test.resources:
            yield from _unknown_resources(test.manifest, test.resources)


def values_of_tests(
    tests: Iterable[TestInputs], derive: Callable[[Policy], Iterable[Rule]]
) -> Iterator[Diagnostic]:
    """KV073: values in the file of a test for a missing policy, rule, resource or namespace."""
    given = tuple(tests)
    yield from _labels_of_namespaces(given)
    for test in given:
        if test.policies and test.resources and test.values:
            rules = {
                one.key: frozenset(rule.name for rule in (*one.rules, *derive(one)) if rule.name)
                for one in test.policies
            }
            names = frozenset(object_key(one).name for one in test.resources)
            yield from unused_values(test.values, rules, names)


def _labels_of_namespaces(tests: Sequence[TestInputs]) -> Iterator[Diagnostic]:
    """Yield the namespaces with labels if no resource is in one of them, but policies read labels.

    Several tests may have the same file of values.
    """
    files = {
        one.values.document.file: one.values.document
        for one in tests
        if one.values and one.values.document
    }
    for file, document in files.items():
        users = [one for one in tests if _file_of_values(one) == file]
        policies = [one.document.data for test in users for one in test.policies]
        keys = [object_key(one) for test in users for one in test.resources]
        used = {name for key in keys for name in (key.namespace or "default", key.name)}
        entries = document.data.get("namespaceSelector") or ()
        is_read = all(one.policies and one.resources for one in users) and contains_text(
            policies, "namespaceSelector", "namespaceObject"
        )
        if not is_read or not used.isdisjoint(one["name"] for one in entries):
            continue
        namespaces = sorted({key.namespace or "default" for key in keys})
        for index, entry in enumerate(entries):
            text = (
                f"the labels are for the namespace `{entry['name']}`, in which the test has no "
                f"resource: its resources are in {listed(namespaces)}"
            )
            yield warn(document, "KV073", text, ("namespaceSelector", index, "name"))


def _file_of_values(test: TestInputs) -> str:
    return test.values.document.file if test.values and test.values.document else ""


def _contradicting_rows(manifest: Manifest) -> Iterator[Diagnostic]:
    expected: dict[tuple[object, ...], str] = {}
    for row in manifest.rows:
        for index, name in enumerate(row.resources or ()):
            about = (row.policy, row.rule, row.kind, row.operation, row.flags, name)
            first = expected.setdefault(about, row.result)
            if first != row.result:
                text = (
                    f"an earlier row expects the result `{first}` for `{name}`, so one of the two "
                    "always fails"
                )
                path = (*row.path, "resources", index)
                yield warn(manifest.document, "KV042", text, path)


def _rules_of_policies_without(test: TestInputs) -> Iterator[Diagnostic]:
    kinds = {
        name: one.kind
        for one in test.policies
        if not one.facts.has_rules
        for name in (one.name, one.key)
    }
    for row in test.manifest.rows:
        if row.rule and row.policy in kinds:
            text = (
                f"`rule` has no effect: a {kinds[row.policy]} has no rules, so the row expects the "
                "result of the whole policy"
            )
            yield warn(test.manifest.document, "KV042", text, (*row.path, "rule"))


def unknown_policies(
    tests: Iterable[TestInputs], derive: Callable[[Policy], Iterable[Rule]]
) -> Iterator[Diagnostic]:
    """KV042: rows for a policy that the test does not have, or for a rule that its policy lacks."""
    pairs = ((one, row) for one in tests if one.policies for row in one.manifest.rows)
    for test, row in pairs:
        policies = {name: one for one in test.policies for name in (one.key, one.name)}
        policy = policies.get(row.policy)
        field, problem = "policy", ""
        if policy is None:
            problem = f"no policy of the test is named `{row.policy}`{likely(row.policy, policies)}"
        elif row.rule and policy.rules and policy.facts.has_rules:
            rules = {rule.name for rule in (*policy.rules, *derive(policy)) if rule.name}
            if row.rule not in rules:
                hint = likely(row.rule, rules)
                field, problem = "rule", f"`{row.policy}` has no rule `{row.rule}`{hint}"
        if problem:
            yield warn(test.manifest.document, "KV042", problem, (*row.path, field))


def _unknown_resources(
    manifest: Manifest, resources: Sequence[KubernetesObject]
) -> Iterator[Diagnostic]:
    keys = [object_key(one) for one in resources]
    names = {name for key in keys for name in (key.name, f"{key.namespace}/{key.name}")}
    for row in manifest.rows:
        for index, name in enumerate(row.resources or ()):
            if name not in names:
                known = [one for one in names if ("/" in one) == ("/" in name)]
                text = (
                    f"no resource of the test is named `{name}`, so the row fails"
                    f"{likely(name, known)}"
                )
                yield warn(manifest.document, "KV042", text, (*row.path, "resources", index))
