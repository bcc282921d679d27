"""`migrate`: converts policies with rules to CEL policies, with the outcome for each rule.

Codes: KV280 nothing to convert. KV281 two converted policies have the same name.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs, partition
from kyvsim.api.processes import shared_by_processes
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.discovery import KindTable, crd_kinds
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import is_exception, load_exceptions, load_policies
from kyvsim.load.resources import POLICIES, partition_by_kind
from kyvsim.migrate import CONVERTED_KINDS, convert, convert_exception
from kyvsim.migrate.comments import Comments, comments_of
from kyvsim.model.comparison import Answer, Evidence, Limit, SearchBudget
from kyvsim.model.diagnostic import Diagnostic, Severity, has_errors, without_left_out
from kyvsim.model.migration import Conversion, ConversionOutcome, Made, Migration
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.report.migrate import document_yaml, policy_yaml
from kyvsim.report.object_text import to_yaml


def migrate(
    paths: Iterable[str], stdin: bytes | None = None, walking: Walking = USUAL, kind: str = ""
) -> Migration:
    """Return the conversions of the policies in `paths`, in order.

    `stdin` is read for the path `-`. A rule is not converted if its expression does not compile, or
    if it would become another `kind` of policy than requested.
    """
    read = list(read_sources(paths, stdin, walking))
    sources = [source for source in read if isinstance(source, Source)]
    documents, remarks = read_documents(sources, stdin, STRICT, walking)
    excepting, others = partition(documents, lambda document: is_exception(document.data))
    kept, aside = partition_by_kind(others, POLICIES, needed=not walking.as_found)
    exceptions, wrong = load_exceptions(excepting)
    policies, problems = load_policies(kept, READERS)
    chosen = [policy for policy in policies if policy.kind in CONVERTED_KINDS]
    usable, refused = _usable(chosen, crd_kinds(document.data for document in documents))
    unread = (source for source in read if isinstance(source, Diagnostic))
    diagnostics, left_out = without_left_out(
        (*unread, *remarks, *aside, *problems, *wrong, *refused)
    )
    if not (chosen or exceptions.rules or has_errors(diagnostics)):
        text = "nothing to convert: no policy of `kyverno.io`"
        diagnostics = (*diagnostics, Diagnostic("KV280", Severity.ERROR, text))
    texts = {source.name: source.text for source in sources}
    pairs = [
        _converted(policy, texts.get(policy.document.file, ""), exceptions.rules, kind)
        for policy in usable
    ]
    pairs += [
        _with_exception(rule, texts.get(rule.document.file, ""), pairs) for rule in exceptions.rules
    ]
    diagnostics = (*diagnostics, *_clashes([conversion for conversion, _ in pairs]))
    return Migration(
        tuple(conversion for conversion, _ in pairs),
        tuple(text for _, text in pairs),
        diagnostics,
        left_out,
    )


def _clashes(conversions: Iterable[Conversion]) -> Iterator[Diagnostic]:
    """Yield an error for each converted policy with the same name as another.

    Different folders are for different clusters.
    """
    owners: dict[tuple[str, str, str, str], Policy | PolicyException] = {}
    for conversion in conversions:
        for made in conversion.made:
            meta = made.data["metadata"]
            folder = os.path.dirname(conversion.policy.document.file)
            key = (made.data["kind"], meta.get("namespace", ""), meta["name"], folder)
            owner = owners.setdefault(key, conversion.policy)
            if owner is not conversion.policy:
                text = (
                    f"`{conversion.policy.key}` and `{owner.key}` both become the "
                    f"{key[0]} `{key[2]}`: rename one of them, or a rule"
                )
                place = conversion.policy.document.locate(("metadata", "name"))
                yield Diagnostic("KV281", Severity.ERROR, text, place)


def _usable(
    policies: Iterable[Policy], kinds: KindTable
) -> tuple[list[Policy], tuple[Diagnostic, ...]]:
    usable: list[Policy] = []
    refused: list[Diagnostic] = []
    for policy in policies:
        options = CompileOptions(own_system(), simulated=True, kinds=kinds)
        _, diagnostics = compile_policies([policy], options)
        if has_errors(diagnostics):
            refused += diagnostics
        else:
            usable.append(policy)
    return usable, tuple(refused)


def _converted(
    policy: Policy, source: str, exceptions: Sequence[PolicyException], kind: str
) -> tuple[Conversion, str]:
    conversion = _of_kind(kind, convert(policy, document_yaml, exceptions))
    comments = comments_of(policy.document, [rule.path for rule in policy.rules], source)
    texts: list[str] = []
    kept: list[Made] = []
    for place, made in enumerate(conversion.made):
        text = _text(made, comments if place == 0 else comments._replace(head=()))
        error = _compile_error(text)
        if error:
            conversion = _without(conversion, made, *_not_compiled(error))
        else:
            kept.append(made)
            texts.append(text)
    return conversion._replace(made=tuple(kept)), "---\n".join(texts)


def _with_exception(
    exception: PolicyException, source: str, pairs: Sequence[tuple[Conversion, str]]
) -> tuple[Conversion, str]:
    """Return the conversion of an exception, given the converted policies, and its YAML."""
    conversion = convert_exception(exception, [conversion for conversion, _ in pairs])
    comments = comments_of(exception.document, (), source)
    texts = []
    for place, made in enumerate(conversion.made):
        texts.append(_text(made, comments if place == 0 else Comments(())))
        error = _compile_error("---\n".join([*(text for _, text in pairs if text), texts[-1]]))
        if error:
            whole = made._replace(rules=tuple(range(len(conversion.rules))))
            return _without(conversion._replace(made=()), whole, *_not_compiled(error)), ""
    return conversion, "---\n".join(texts)


def _text(made: Made, comments: Comments) -> str:
    above: dict[int, tuple[str, ...]] = {}
    for place, rule in enumerate(made.origins):
        if rule not in made.origins[:place]:
            above[place] = comments.rules.get(rule, ())
    return policy_yaml(made.data, comments.head, above)


def _compile_error(text: str) -> str:
    """Return why a converted policy cannot be used, or ""."""
    documents, remarks = read_documents([Source("", text)], None, STRICT)
    excepting, others = partition(documents, lambda document: is_exception(document.data))
    exceptions, wrong = load_exceptions(excepting)
    policies, problems = load_policies(others, READERS)
    options = CompileOptions(own_system(), cel_exceptions=exceptions.policies, simulated=True)
    _, refused = compile_policies(policies, options)
    diagnostics = (*remarks, *wrong, *problems, *refused)
    return next((one.message for one in diagnostics if one.severity is Severity.ERROR), "")


def _not_compiled(error: str) -> tuple[str, str]:
    return f"the converted rule does not compile: {error}", "convert this rule by hand"


def _of_kind(kind: str, conversion: Conversion) -> Conversion:
    """Return a conversion without policies of kinds other than the requested one."""
    kept = []
    for made in conversion.made:
        made_kind = str(made.data["kind"]).removeprefix("Namespaced")
        if kind in {"", made_kind}:
            kept.append(made)
            continue
        reason = f"it becomes a {made_kind}, and --kind selects {kind}"
        conversion = _without(conversion, made, reason, f"omit --kind, or use --kind {made_kind}")
    return conversion._replace(made=tuple(kept))


def _without(conversion: Conversion, made: Made, reason: str, advice: str) -> Conversion:
    """Return a conversion that refuses the rules of a policy."""
    rules = list(conversion.rules)
    for index in made.rules:
        rules[index] = rules[index]._replace(
            outcome=ConversionOutcome.REFUSED, reason=reason, advice=advice, conditions=()
        )
    return conversion._replace(rules=tuple(rules))


# `migrate --check`: compares each policy with its conversion by cases.

_LIMITS: Mapping[str, Limit] = {
    "requests of other operations": Limit.OTHER_OPERATIONS,
    "deletions": Limit.DELETIONS,
    "amounts read at run time": Limit.READ_AMOUNTS,
    "texts read at run time": Limit.READ_TEXTS,
}
"""The limits that conditions describe, by the names of conditions."""
_BRIEF = SearchBudget(cases=300, first_only=True)
_FEW = 4
"""Maximum number of policies for which one process is faster than several."""


def with_evidence(
    migration: Migration, resources: tuple[str, ...], budget: SearchBudget, jobs: int = 1
) -> Migration:
    """Return a migration with evidence for each completely converted policy.

    `resources` are manifests from which cases are derived; `budget` limits the cases of one
    policy. `jobs` is the number of processes, 0 for one per processor if it is worth it.
    """
    evidence_of = partial(_evidence, resources=resources, budget=budget)
    return migration._replace(evidence=tuple(_each_evidence(migration, evidence_of, jobs)))


def with_counterexamples(migration: Migration, jobs: int = 1) -> Migration:
    """Return a migration with evidence only if a few small cases show a difference."""
    evidence_of = partial(_evidence, resources=(), budget=_BRIEF)
    evidences = _each_evidence(migration, evidence_of, jobs)
    shown = (one if one and one.answer is Answer.COUNTEREXAMPLE else None for one in evidences)
    return migration._replace(evidence=tuple(shown))


_Pair: TypeAlias = tuple[Conversion, str]


class _Compared(NamedTuple):
    """Policies and exceptions that are compared with their conversions; empty for none."""

    policies: Sequence[_Pair] = ()
    exceptions: Sequence[_Pair] = ()


def _each_evidence(
    migration: Migration, evidence_of: Callable[[_Compared], Evidence | None], jobs: int
) -> Iterator[Evidence | None]:
    pairs = list(zip(migration.conversions, migration.texts, strict=True))
    compared: list[_Compared] = []
    for pair in pairs:
        exception = pair[0].policy
        if not (pair[0].is_whole and pair[1]):
            compared.append(_Compared())
        elif isinstance(exception, Policy):
            compared.append(_Compared([pair]))
        else:
            # An exception is compared together with the policies that it names.
            named = {entry.policy for entry in exception.exceptions}
            policies = [other for other in pairs if other[0].policy.key in named]
            compared.append(_Compared(policies, [pair]))
    return shared_by_processes(evidence_of, compared, jobs, few=_FEW, first=1)


def _evidence(
    compared: _Compared, resources: tuple[str, ...], budget: SearchBudget
) -> Evidence | None:
    """Return the evidence for policies and exceptions."""
    policies, exceptions = compared
    if not (policies or exceptions):
        return None
    inputs = EqualInputs(
        old=tuple(map(_before, policies)),
        new=tuple(map(_after, policies)),
        shared=ApplyInputs(
            policies=(),
            resources=resources,
            exceptions=tuple(text(pair) for pair in exceptions for text in (_before, _after)),
        ),
        budget=budget,
        needs_cases=True,
        conditions=frozenset(
            _LIMITS[condition.name]
            for conversion, _ in (*policies, *exceptions)
            for rule in conversion.rules
            for condition in rule.conditions
            if condition.name in _LIMITS
        ),
    )
    return compare(inputs).evidence


def _before(pair: _Pair) -> Source:
    document = pair[0].policy.document
    return Source(document.file, to_yaml(document.data))


def _after(pair: _Pair) -> Source:
    return Source(f"conversion of {pair[0].policy.document.file}", pair[1])
