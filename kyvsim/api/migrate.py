"""`migrate`: policies with rules → policies in CEL, with what became of each rule.

Codes: KV280 nothing to convert. KV281 two policies become one of the same name.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.discovery import KindTable, crd_kinds
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.exceptions import load_exceptions
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import is_exception, load_policies
from kyvsim.load.resources import POLICIES, partition_by_kind
from kyvsim.migrate import CONVERTED_KINDS, convert, convert_exception
from kyvsim.migrate.comments import Comments, comments_of
from kyvsim.model.comparison import Answer, Evidence, Limit
from kyvsim.model.diagnostic import Diagnostic, Severity, without_left_out
from kyvsim.model.exceptions import PolicyException
from kyvsim.model.migration import Conversion, ConversionOutcome, Made, Migration
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document
from kyvsim.report.migrate import document_yaml, policy_yaml
from kyvsim.report.object_text import to_yaml


def migrate(
    paths: Iterable[str], stdin: bytes | None = None, walking: Walking = USUAL, kind: str = ""
) -> Migration:
    """Return what becomes of the policies that `paths` lead to, in their order.

    `stdin` holds the bytes that the path `-` stands for. Whatever is made compiles; a rule whose
    expression does not is not converted, nor is one that becomes a part of another `kind` of
    policies, if one is given.
    """
    found = list(read_sources(paths, stdin, walking))
    sources = [one for one in found if isinstance(one, Source)]
    documents, remarks = read_documents(sources, stdin, STRICT, walking)
    excepting, others = _apart(documents)
    wanted, aside = partition_by_kind(others, POLICIES, needed=not walking.as_found)
    exceptions, wrong = load_exceptions(excepting)
    policies, problems = load_policies(wanted, READERS)
    chosen = [one for one in policies if one.kind in CONVERTED_KINDS]
    usable, refused = _usable(chosen, crd_kinds(one.data for one in documents))
    unread = (one for one in found if isinstance(one, Diagnostic))
    said, left_out = without_left_out((*unread, *remarks, *aside, *problems, *wrong, *refused))
    is_wrong = any(one.severity is Severity.ERROR for one in said)
    if not (chosen or exceptions.rules or is_wrong):
        text = "nothing to convert: no policy of `kyverno.io`"
        said = (*said, Diagnostic("KV280", Severity.ERROR, text))
    texts = {one.name: one.text for one in sources}
    pairs = [
        _converted(one, texts.get(one.document.file, ""), exceptions.rules, kind) for one in usable
    ]
    pairs += [
        _with_exception(one, texts.get(one.document.file, ""), pairs) for one in exceptions.rules
    ]
    said = (*said, *_clashes([one for one, _ in pairs]))
    return Migration(
        tuple(one for one, _ in pairs), tuple(text for _, text in pairs), said, left_out
    )


def _apart(documents: Iterable[Document]) -> tuple[list[Document], list[Document]]:
    found: tuple[list[Document], list[Document]] = ([], [])
    for one in documents:
        found[not is_exception(one.data)].append(one)
    return found


def _clashes(conversions: Iterable[Conversion]) -> Iterator[Diagnostic]:
    """Yield the policies that become one of a name that another one becomes already.

    What is in different folders is for different clusters, or there twice in the first place.
    """
    owners: dict[tuple[str, str, str, str], Policy | PolicyException] = {}
    for one in conversions:
        for made in one.made:
            meta = made.data["metadata"]
            folder = os.path.dirname(one.policy.document.file)
            key = (made.data["kind"], meta.get("namespace", ""), meta["name"], folder)
            owner = owners.setdefault(key, one.policy)
            if owner is not one.policy:
                text = (
                    f"`{one.policy.key}` and `{owner.key}` both become the {key[0]} `{key[2]}`: "
                    "rename one of them, or a rule"
                )
                place = one.policy.document.locate(("metadata", "name"))
                yield Diagnostic("KV281", Severity.ERROR, text, place)


def _usable(
    policies: Iterable[Policy], kinds: KindTable
) -> tuple[list[Policy], tuple[Diagnostic, ...]]:
    usable: list[Policy] = []
    refused: list[Diagnostic] = []
    for one in policies:
        options = CompileOptions(own_system(), simulated=True, kinds=kinds)
        _, told = compile_policies([one], options)
        if any(remark.severity is Severity.ERROR for remark in told):
            refused += told
        else:
            usable.append(one)
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
        fault = _fault(text)
        if fault:
            conversion = _without(conversion, made, *_not_compiled(fault))
        else:
            kept.append(made)
            texts.append(text)
    return conversion._replace(made=tuple(kept)), "---\n".join(texts)


def _with_exception(
    exception: PolicyException, source: str, pairs: Sequence[tuple[Conversion, str]]
) -> tuple[Conversion, str]:
    """Return what becomes of an exception from policies that have become others, and its YAML."""
    conversion = convert_exception(exception, [one for one, _ in pairs])
    comments = comments_of(exception.document, (), source)
    texts = []
    for place, made in enumerate(conversion.made):
        texts.append(_text(made, comments if place == 0 else Comments(())))
        fault = _fault("---\n".join([*(text for _, text in pairs if text), texts[-1]]))
        if fault:
            whole = made._replace(rules=tuple(range(len(conversion.rules))))
            return _without(conversion._replace(made=()), whole, *_not_compiled(fault)), ""
    return conversion, "---\n".join(texts)


def _text(made: Made, comments: Comments) -> str:
    above: dict[int, tuple[str, ...]] = {}
    for place, rule in enumerate(made.origins):
        if rule not in made.origins[:place]:
            above[place] = comments.rules.get(rule, ())
    return policy_yaml(made.data, comments.head, above)


def _fault(text: str) -> str:
    """Return why a policy as it would be written cannot be used, or ""."""
    documents, remarks = read_documents([Source("", text)], None, STRICT)
    excepting, others = _apart(documents)
    exceptions, wrong = load_exceptions(excepting)
    policies, problems = load_policies(others, READERS)
    options = CompileOptions(own_system(), cel_exceptions=exceptions.policies, simulated=True)
    _, told = compile_policies(policies, options)
    errors = tuple(one for one in told if one.severity is Severity.ERROR)
    found = (*remarks, *wrong, *problems, *errors)
    return next((one.message for one in found if one.severity is Severity.ERROR), "")


def _not_compiled(fault: str) -> tuple[str, str]:
    return f"the converted rule does not compile: {fault}", "convert this rule by hand"


def _of_kind(kind: str, conversion: Conversion) -> Conversion:
    """Return a conversion without what is of another kind, if one is asked for."""
    kept = []
    for made in conversion.made:
        found = str(made.data["kind"]).removeprefix("Namespaced")
        if kind in {"", found}:
            kept.append(made)
            continue
        reason = f"it becomes a {found}, and --kind asks for {kind}"
        conversion = _without(conversion, made, reason, f"omit --kind, or use --kind {found}")
    return conversion._replace(made=tuple(kept))


def _without(conversion: Conversion, made: Made, reason: str, advice: str) -> Conversion:
    """Return a conversion in which the rules that a policy is made of are refused."""
    rules = list(conversion.rules)
    for index in made.rules:
        rules[index] = rules[index]._replace(
            outcome=ConversionOutcome.REFUSED, reason=reason, advice=advice, conditions=()
        )
    return conversion._replace(rules=tuple(rules))


# `migrate --check`: each policy and what was made of it, compared by cases.

_LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "requests of other operations": Limit.OTHER_OPERATIONS,
        "deletions": Limit.DELETIONS,
        "amounts read at run time": Limit.READ_AMOUNTS,
        "texts read at run time": Limit.READ_TEXTS,
    }
)
"""By the names of conditions the differences that they are about."""
_BRIEF_CASES, _BRIEF_SECONDS = 300, 1.0


def with_evidence(migration: Migration, resources: tuple[str, ...], seconds: float) -> Migration:
    """Return a migration with the evidence on each policy that is converted as a whole.

    `resources` are manifests to try, too; `seconds` is how long to make cases of one policy.
    """
    return migration._replace(evidence=tuple(_each_evidence(migration, resources, seconds)))


def with_counterexamples(migration: Migration) -> Migration:
    """Return a migration with evidence where a brief look finds a difference, and none elsewhere.

    The look goes no further than small objects with few changes: what it does not find is not
    checked. An error on an ordinary object is among the first things that it meets.
    """
    found = _each_evidence(migration, (), _BRIEF_SECONDS, _BRIEF_CASES)
    shown = (one if one and one.answer is Answer.COUNTEREXAMPLE else None for one in found)
    return migration._replace(evidence=tuple(shown))


def _each_evidence(
    migration: Migration, resources: tuple[str, ...], seconds: float, cases: int = 0
) -> Iterator[Evidence | None]:
    pairs = list(zip(migration.conversions, migration.texts, strict=True))
    for pair in pairs:
        is_compared = pair[0].is_whole and pair[1]
        told = _reported(pair, pairs)
        yield _evidence(told, resources, seconds, cases) if is_compared else None


_Pair: TypeAlias = tuple[Conversion, str]
"""What became of a policy or an exception, and the YAML of that."""


class _Reported(NamedTuple):
    """What is compared: policies, and the exceptions from them, before and after."""

    policies: tuple[_Pair, ...]
    exceptions: tuple[_Pair, ...] = ()


def _reported(pair: _Pair, pairs: Sequence[_Pair]) -> _Reported:
    """Return what is compared for a pair: of an exception it is the policies that it names."""
    exception = pair[0].policy
    if isinstance(exception, Policy):
        return _Reported((pair,))
    named = {one.policy for one in exception.exceptions}
    return _Reported(tuple(one for one in pairs if one[0].policy.key in named), (pair,))


def _evidence(
    told: _Reported, resources: tuple[str, ...], seconds: float, cases: int = 0
) -> Evidence | None:
    """Return the evidence on a pair; `cases` bounds a brief look, which ends with what it finds."""
    inputs = EqualInputs(
        old=tuple(map(_before, told.policies)),
        new=tuple(map(_after, told.policies)),
        shared=ApplyInputs(
            policies=(),
            resources=resources,
            exceptions=tuple(text(one) for one in told.exceptions for text in (_before, _after)),
        ),
        seconds=seconds,
        needs_cases=True,
        conditions=frozenset(
            _LIMITS[one.name]
            for conversion, _ in (*told.policies, *told.exceptions)
            for rule in conversion.rules
            for one in rule.conditions
            if one.name in _LIMITS
        ),
    )
    if cases:
        inputs = inputs._replace(cases=cases, first_only=True)
    return compare(inputs).evidence


def _before(pair: _Pair) -> Source:
    document = pair[0].policy.document
    return Source(document.file, to_yaml(document.data))


def _after(pair: _Pair) -> Source:
    return Source(f"what becomes of {pair[0].policy.document.file}", pair[1])
