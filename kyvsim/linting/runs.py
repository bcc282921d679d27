"""The definition of checks, and the checks of runs: parts without effect on the input."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from functools import partial
from importlib import import_module
from itertools import chain, islice
from typing import Any, Final, NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.kubernetes.objects import KubernetesObject, metadata, text_field, value_at
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import GlobError, compile_glob
from kyvsim.languages import CEL_POLICIES, kinds_of
from kyvsim.languages.classic.autogen import POD_CONTROLLERS
from kyvsim.linting.fields import json_patches, unfitting_patterns
from kyvsim.linting.patterns import misread_patterns, replaced_lists
from kyvsim.linting.queries import misread_queries
from kyvsim.linting.references import (
    broken_conditions,
    known_kinds,
    powerless_exceptions,
    unknown_kinds,
    unknown_resources,
    unknown_target_kinds,
    unused_bindings,
    unused_cel_exceptions,
    unused_exceptions,
    unused_values,
)
from kyvsim.linting.suites import TestInputs
from kyvsim.linting.traversal import joined_texts, nodes_of
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.policy import (
    SEVERITIES,
    Binding,
    CelException,
    Policy,
    PolicyException,
    Rule,
    underived,
)
from kyvsim.model.request import PayloadMode
from kyvsim.model.result import ReportedReason
from kyvsim.model.source import Document, Location
from kyvsim.model.values import Values
from kyvsim.policy.autogen import ANNOTATION
from kyvsim.policy.tree import Condition


class CheckSubject(StrEnum):
    """The subject of a check, which is the single argument of its function."""

    RULES = "rules"
    """A policy with match blocks (ClusterPolicy, Policy, CleanupPolicy): `Policy`."""
    CEL = "cel"
    """A policy of Kyverno's CEL kinds, with parsed expressions: `CelPolicy`."""
    EXPRESSIONS = "expressions"
    """The same, or one of Kubernetes' admission policies: `CelPolicy`."""
    DOCUMENTS = "documents"
    """All documents of Kyverno's kinds together, in `lint` only: `LintInputs`."""
    FILES = "files"
    """All policies, exceptions and bindings together, in `lint` only: `LintInputs`."""
    INPUTS = "inputs"
    """The same in `lint`, `apply` and `test`, with the resources of a run: `LintInputs`."""
    RUN = "run"
    """The same in `apply` and `test` only: `LintInputs`."""


class CheckCode(NamedTuple):
    """A code that a check reports; docs/diagnostics.md describes all codes."""

    code: str
    example: str
    """The part of the example on its page for which it is reported."""
    severities: tuple[Severity, ...] = (Severity.WARNING,)
    """The possible severities, without `--strict`."""


class Check(NamedTuple):
    """One check. It must only report what is certain: false warnings discredit true ones."""

    codes: tuple[CheckCode, ...]
    subject: CheckSubject
    run: Callable[[Any], Iterable[Diagnostic]]


def warning_check(
    subject: CheckSubject, run: Callable[[Any], Iterable[Diagnostic]], **examples: str
) -> Check:
    """Return a check that only warns, with an example for each of its codes."""
    return Check(tuple(CheckCode(*one) for one in examples.items()), subject, run)


class Kustomized(NamedTuple):
    """A kustomization with the documents among its resources, also those of its bases."""

    kustomization: Document
    documents: tuple[Document, ...]


class LintInputs(NamedTuple):
    """The input of `lint`, or of a run of `apply` or `test`."""

    policies: tuple[Policy, ...]
    resources: tuple[KubernetesObject, ...]
    """The objects to evaluate, or a sample with all kinds and names."""
    derive: Callable[[Policy], Iterable[Rule]]
    """Returns the rules of a policy, including autogen rules."""
    others: tuple[KubernetesObject, ...] = ()
    exceptions: tuple[PolicyException, ...] = ()
    cel_exceptions: tuple[CelException, ...] = ()
    bindings: tuple[Binding, ...] = ()
    values: Values | None = None
    sound: bool = True
    """Whether all policies were loaded; if not, a reference to a rejected one is not a typo."""
    modes: frozenset[PayloadMode] = frozenset()
    number: int = 0
    documents: tuple[Document, ...] = ()
    """In `lint`: the documents whose kinds Kyverno defines."""
    manifests: tuple[Document, ...] = ()
    """In `lint`: other objects."""
    tests: tuple[TestInputs, ...] = ()
    """In `lint`: test manifests with their files."""
    kustomized: tuple[Kustomized, ...] = ()
    """In `lint`: kustomizations with their resources."""
    kinds: KindTable = NO_KINDS
    """In `lint`: the kinds that CustomResourceDefinitions define."""
    now: datetime | None = None

    @property
    def objects(self) -> tuple[KubernetesObject, ...]:
        """All objects that show which kinds exist."""
        mapped = self.values.subresources if self.values else ()
        sent = [{"apiVersion": f"{one.kind.group}/", "kind": one.kind.kind} for one in mapped]
        return (*self.resources, *self.others, *sent)


SEVERITY = "policies.kyverno.io/severity"


def meaningless_annotations(policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV217: a severity that reports omit; KV218: an unknown controller in `autogen`.

    upstream: pkg/utils/report/results.go `SeverityFromString`, pkg/autogen/v1
    """
    for policy in policies:
        value = policy.annotations.get(SEVERITY)
        if value is not None and value not in SEVERITIES:
            text = f"`{value}` is not a severity, so reports omit it: use {_listed(SEVERITIES)}"
            path = ("metadata", "annotations", SEVERITY)
            meant = str(value).strip().lower()
            instead = (str(value), meant) if meant in SEVERITIES else None
            yield warn(policy.document, "KV217", text, path, instead=instead)
        controllers = policy.annotations.get(ANNOTATION)
        is_list = controllers not in {None, "", "none", "all"}
        names = str(controllers).split(",") if is_list else []
        known = {one.lower(): one for one in POD_CONTROLLERS}
        meant = ",".join(known.get(name.strip().lower(), "?") for name in names)
        instead = None if "?" in meant else (str(controllers), meant)
        for name in names:
            if name not in POD_CONTROLLERS:
                text = (
                    f"`{name}` is not a Pod controller: use `none`, or a list of "
                    f"{_listed(sorted(POD_CONTROLLERS))}, separated by commas without spaces"
                )
                path = ("metadata", "annotations", ANNOTATION)
                yield warn(policy.document, "KV218", text, path, instead=instead)


def _listed(names: Iterable[str]) -> str:
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} or {last}"


def unused_names(given: LintInputs) -> Iterator[Diagnostic]:
    """KV071 and KV072: exceptions, KV073: values for missing policies, rules or resources."""
    if given.sound and (given.exceptions or given.values):
        every = (text_field(metadata(one), "name") for one in (*given.resources, *given.others))
        rules = {
            one.key: frozenset(rule.name for rule in (*one.rules, *given.derive(one)) if rule.name)
            for one in given.policies
        }
        yield from unused_exceptions(given.exceptions, rules)
        yield from unused_values(given.values, rules, frozenset(every))


IMPOSSIBLE_CALL: Final = 'key: "{{ to_loweer(request.object.metadata.name) }}"'
UNUSED_BINDING: Final = "policyName: exampel"
_inputs = partial(warning_check, CheckSubject.INPUTS)

RUN_CHECKS: Final = (
    Check(
        (
            CheckCode("KV215", "kinds: [services]"),
            CheckCode("KV216", "kinds: [example.com/v1/Cart]", (Severity.WARNING, Severity.INFO)),
        ),
        CheckSubject.INPUTS,
        lambda given: unknown_kinds(given.policies, known_kinds(given.objects), given.exceptions),
    ),
    _inputs(
        lambda given: unknown_target_kinds(given.policies, known_kinds(given.objects)),
        KV215="kinds: [services]",
    ),
    Check(
        (
            CheckCode(
                "KV230",
                "key: \"{{ request.object.metadata.labels.example.com/tier || '' }}\"",
                (Severity.ERROR,),
            ),
            CheckCode("KV205", IMPOSSIBLE_CALL),
        ),
        CheckSubject.INPUTS,
        lambda given: broken_conditions(given.exceptions),
    ),
    _inputs(
        lambda given: meaningless_annotations(given.policies),
        KV217="policies.kyverno.io/severity: High",
        KV218='pod-policies.kyverno.io/autogen-controllers: "Deployment, Job"',
    ),
    _inputs(
        lambda given: powerless_exceptions(
            given.exceptions, given.policies if given.sound else (), given.derive
        ),
        KV226="policyName: example",
    ),
    _inputs(unused_names, KV071="policyName: exampel", KV072="ruleNames: [b]", KV073="name: b"),
    Check(
        (
            CheckCode("KV163", "resources: [service]"),
            CheckCode("KV164", "resources: [carts]", (Severity.INFO,)),
        ),
        CheckSubject.INPUTS,
        lambda given: unknown_resources(
            given.policies, (*given.resources, *given.others), given.bindings
        ),
    ),
    _inputs(
        lambda given: (
            unused_cel_exceptions(given.cel_exceptions, given.policies) if given.sound else ()
        ),
        KV071="policyName: exampel",
    ),
    warning_check(
        CheckSubject.RUN,
        lambda given: unused_bindings(given.bindings, given.policies) if given.sound else (),
        KV167=UNUSED_BINDING,
    ),
)
"""The checks that `apply` and `test` run; the other checks are in `registry.py`."""


def _has_json_patches(rule: Rule) -> bool:
    return any(json_patches(rule.tree))


def _merges_wildcards(rule: Rule) -> bool:
    return rule.tree.mutate is not None and "*" in joined_texts(rule)


def _excludes(rule: Rule) -> bool:
    return rule.tree.exclude is not None


_UNUSUAL_NAME: Final = re.compile(r"[^a-z0-9.*?-]")


def _has_unusual_names(rule: Rule) -> bool:
    filters = rule.tree.filters
    names = (name for one in filters for name in (*one.names, one.name, *one.namespaces))
    return any(_UNUSUAL_NAME.search(str(name)) for name in names if name)


def _has_conditions(rule: Rule) -> bool:
    return any(isinstance(one, Condition) for one in nodes_of(rule))


def _has_variables(rule: Rule) -> bool:
    return "{{" in joined_texts(rule)


def _calls_api(rule: Rule) -> bool:
    return "urlPath" in joined_texts(rule)


def _tests_whole_lists(rule: Rule) -> bool:
    return any(name in joined_texts(rule) for name in ("AllIn", "AllNotIn"))


_OF_FEW_RULES: Final = (
    (_has_json_patches, "patches.misread_paths"),
    (_has_json_patches, "patches.ascending_removals"),
    (_merges_wildcards, "patches.names_without_anchor"),
    (_excludes, "matching.ineffective_exclusions"),
    (_has_unusual_names, "matching.impossible_names"),
    (_has_conditions, "expressions.constant_conditions"),
    (_has_variables, "query_types.typed_expressions_of"),
    (_calls_api, "lookups.unknown_api_paths"),
    (_tests_whole_lists, "descriptions.understated_rules"),
)
"""Checks of `lint` that runs need for few rules: which ones, and the function as `module.function`.

Their modules take longer to import than a small run takes.
"""


_IN_CEL: Final = "cel_runs.misread_expressions"


def _function(path: str) -> Callable[[Policy], Iterable[Diagnostic]]:
    module, name = path.split(".")
    found: Callable[[Policy], Iterable[Diagnostic]] = getattr(
        import_module(f"kyvsim.linting.{module}"), name
    )
    return found


def run_warnings(given: LintInputs) -> Iterator[Diagnostic]:
    """Yield warnings about parts without effect in a run.

    Those about parts that do not mean what they seem to mean are checks of `lint`, too: because of
    such a part a rule may pass without a word, or fail for all objects.
    """
    for check in RUN_CHECKS:
        yield from check.run(given)
    for policy in given.policies:
        if policy.facts.has_rules:
            yield from misread_queries(policy)
            yield from misread_patterns(policy)
            for concerns, function in _OF_FEW_RULES:
                if any(map(concerns, policy.rules)):
                    yield from _function(function)(policy)
        elif given.sound and kinds_of(policy) is CEL_POLICIES:
            yield from _function(_IN_CEL)(policy)
    yield from replaced_lists(given.policies, given.kinds)
    yield from unfitting_patterns(given.policies, given.kinds)


def nothing_matched(
    given: LintInputs,
    paths: Iterable[str],
    why: Callable[[], ReportedReason | None] = lambda: None,
) -> Iterator[Diagnostic]:
    """KV070: a run in which no rule matched any of the objects in `paths`.

    `why` returns why a rule did not match an object of its kind; None if it is unknown.
    """
    rules = [(policy, rule) for policy in given.policies for rule in policy.rules]
    if not rules:
        return
    one, all_of_them = ("rule", "rules")
    if not any(policy.facts.has_rules for policy, _ in rules):
        one, all_of_them = ("policy", "policies")
    if not given.resources:
        text = f"no resources were passed, so no {one} was evaluated"
        if given.modes:
            text = f"no {one} applies to the given input: payloads of mode {listed(given.modes)}"
        place = next(iter(paths), "")
        yield Diagnostic("KV070", Severity.WARNING, text, Location(place) if place else None)
        return
    policy, rule = rules[0]
    there = {text_field(one, "kind") for one in given.resources}
    text = f"no {one} matched any of the {given.number} resources"
    if given.number == 1:
        text = f"no {one} matched the resource"
    meeting = [
        rule
        for policy, rule in rules
        if policy.facts.judges is None and (rule.facts.kinds is None or rule.facts.kinds & there)
    ]
    reason = why() if meeting else None
    if reason is not None:
        text = f"{text}: {reason.text}"
        yield Diagnostic("KV070", Severity.WARNING, text, reason.place)
        return
    if meeting:
        # The kinds of CEL policies are unknown here, since they match resources, not kinds.
        known = any(rule.facts.kinds is not None for rule in meeting)
        its, s = ("its", "") if given.number == 1 else ("their", "s")
        other = f"match {its} kind{s}, but not {its}" if known else f"do not match {its} kind{s},"
        text = (
            f"{text}: {all_of_them} {other} name{s}, namespace{s}, labels, operation{s} or "
            f"user{s}, or the `foreach` list is empty"
        )
    else:
        text = f"{text}: the {all_of_them} match {_kinds(rules)}, but the input has {listed(there)}"
        why_not = (underived(policy, one) for policy in given.policies for one in sorted(there))
        text = "; ".join((text, *islice(filter(None, why_not), 1)))
    yield warn(policy.document, "KV070", text, (*rule.path, "match"))


_IMAGE_POLICIES: Final = frozenset({"ImageValidatingPolicy", "NamespacedImageValidatingPolicy"})
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def no_images_checked(given: LintInputs) -> Iterator[Diagnostic]:
    """KV070: a run of policies on images whose references select none of the images."""
    if given.number != len(given.resources) or any(
        one.kind not in _IMAGE_POLICIES or one.cel_tree is None or one.cel_tree.images
        for one in given.policies
    ):
        return
    images = [*dict.fromkeys(chain.from_iterable(map(_images_of, given.resources)))]
    for policy in given.policies if images else ():
        nodes = policy.cel.match_image_references
        globs = [one.glob for one in nodes]
        with suppress(GlobError):
            tests = [compile_glob(glob) for glob in globs if glob]
            if tests and all(globs) and not any(one.fullmatch(i) for one in tests for i in images):
                text = (
                    f"no image is checked: `matchImageReferences` of `{policy.key}` selects "
                    f"{listed(globs)}, and the resources have {listed(images)}"
                )
                place = policy.document.locate(nodes[0].path)
                yield Diagnostic("KV070", Severity.INFO, text, place)


def _images_of(obj: KubernetesObject) -> Iterator[str]:
    spec = value_at(obj, POD_SPEC_PATHS.get(text_field(obj, "kind"), ("-",)))
    for name in _CONTAINERS:
        containers = spec.get(name) if isinstance(spec, dict) else None
        for one in containers if isinstance(containers, list) else ():
            if text := text_field(one, "image"):
                yield text


def all_skipped(reason: ReportedReason | None) -> tuple[Diagnostic, ...]:
    """KV070: a run whose results were all skipped, the first one for a known `reason`."""
    if reason is None:
        return ()
    text = f"every result was skipped: {reason.text}"
    return (Diagnostic("KV070", Severity.INFO, text, reason.place),)


def without_payloads(given: LintInputs) -> Iterator[Diagnostic]:
    """KV172: a policy for payloads of a mode that is not given."""
    for policy in given.policies:
        mode = policy.facts.judges
        if mode is not None and mode not in given.modes:
            option = f"--{mode.lower()}-payload"
            text = (
                f"`{policy.key}` only evaluates payloads of mode {mode}, but there are none: pass "
                f"them with {option}"
            )
            yield warn(policy.document, "KV172", text, ("spec", "evaluation", "mode"))


def _kinds(rules: Iterable[tuple[Policy, Rule]]) -> str:
    found: set[str] = set()
    modes: set[str] = set()
    for policy, rule in rules:
        if policy.facts.judges is not None:
            modes.add(f"requests of mode {policy.facts.judges}")
        elif rule.facts.kinds is None:
            return "objects of any kind"
        else:
            found |= rule.facts.kinds
    return " and ".join((*([listed(found)] if found else ()), *sorted(modes)))
