"""PolicyExceptions by which what failed passes: one for each failure, to be read and kept.

A policy with rules gets one of `kyverno.io`, one in CEL an exception of `policies.kyverno.io`.
upstream: cmd/cli/kubectl-kyverno/commands/apply/print.go (printExceptions). That knows the former
only, and narrows those of Pod security to controls and images, by names that often do not fit.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.result import EngineResponse, Phase, RuleStatus
from kyvsim.report.object_text import to_yaml
from kyvsim.report.results import Row, compile_rows, short_title
from kyvsim.report.run import BeginDocument, Lists, Run, StreamingDocument
from kyvsim.report.style import RenderOptions

_Maker: TypeAlias = Callable[[Row, ObjectKey], dict[str, Json]]

_LIFETIME: Final = "cleanup.kyverno.io/ttl"
_NO_NAME: Final = re.compile(r"[^a-z0-9.-]")
_MOST_OF_A_NAME: Final = 253
_HELD: Final = "held"


def _begin(run: Run, options: RenderOptions, *, as_yaml: bool) -> StreamingDocument:
    """Begin PolicyExceptions by which what failed passes, one for each failure.

    Failures for which there can be none are counted aside: Kubernetes' own policies know no
    exceptions, and one can't be for an object without a name.
    """
    rows_of = compile_rows(audit_warn=run.audit_warn)
    held: list[str] = []

    def row(response: EngineResponse) -> str:
        texts: list[str] = []
        for one in rows_of(response):
            if one.status != RuleStatus.FAIL.value or one.result.phase is Phase.DELETE:
                continue
            make = _MAKERS.get(split_api_version(one.policy.facts.api_version)[0])
            key = object_key(one.resource)
            if make is None or not key.name:
                held.append(f"{one.policy.kind} {one.policy.key}, {short_title(one.resource)}")
                continue
            found = make(one, key)
            if options.lifetime:
                labels = {"labels": {_LIFETIME: options.lifetime}}
                found["metadata"] = labels | found["metadata"]
            texts.append(f"---\n{to_yaml(found)}" if as_yaml else f",\n  {json.dumps(found)}")
        return "".join(texts)

    def tail(lists: Lists) -> Iterator[str]:
        kept = [*lists.get(_HELD, ())]
        if kept:
            options.say(f"no exception can exempt {len(kept)} of the failures (first: {kept[0]})")
        yield "" if as_yaml else "]}\n"

    head = "" if as_yaml else '{"apiVersion": "v1", "kind": "List", "items": ['
    # The first goes without the separator.
    skipped = len("---\n" if as_yaml else ",")
    return StreamingDocument(
        head=lambda: (head,), row=row, tail=tail, lists={_HELD: held}, skipped=skipped
    )


begin_yaml: BeginDocument = partial(_begin, as_yaml=True)
begin_json: BeginDocument = partial(_begin, as_yaml=False)


def _for_rules(row: Row, key: ObjectKey) -> dict[str, Json]:
    rule, policy = row.result.rule, row.policy
    kinds, names, rules = [key.kind], [key.name], [rule.name]
    if rule.autogen_prefix:
        own = next(one.name for one in policy.rules if one.path == rule.path)
        if key.kind == "CronJob":
            kinds.append("Job")
            rules.append(f"autogen-{own}")
        kinds.append("Pod")
        names.append(f"{key.name}-*")
        rules.append(own)
    where = {"namespaces": [key.namespace]} if key.namespace else {}
    return {
        "apiVersion": "kyverno.io/v2beta1",
        "kind": "PolicyException",
        "metadata": {"name": _name(policy.name, rule.name, key)},
        "spec": {
            "exceptions": [{"policyName": policy.key, "ruleNames": rules}],
            "match": {"all": [{"resources": {"kinds": kinds, "names": names, **where}}]},
        },
    }


def _for_policy(row: Row, key: ObjectKey) -> dict[str, Json]:
    policy = row.policy
    tests = [f"object.kind == {_quoted(key.kind)}", f"object.metadata.name == {_quoted(key.name)}"]
    test = " && ".join(tests)
    if row.result.rule.variant:
        below = "in ['Job', 'Pod']" if key.kind == "CronJob" else "== 'Pod'"
        prefix = _quoted(f"{key.name}-")
        test += f" || object.kind {below} && object.metadata.name.startsWith({prefix})"
    conditions = [{"name": "object", "expression": test}]
    if key.namespace:
        inside = f"object.metadata.namespace == {_quoted(key.namespace)}"
        conditions.append({"name": "namespace", "expression": inside})
    where = {"namespace": policy.namespace} if policy.namespace else {}
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": {"name": _name(policy.name, "", key), **where},
        "spec": {
            "matchConditions": conditions,
            "policyRefs": [{"kind": policy.kind, "name": policy.name}],
        },
    }


_MAKERS: Mapping[str, _Maker] = MappingProxyType(
    {"kyverno.io": _for_rules, "policies.kyverno.io": _for_policy}
)
"""What makes an exception, by the group of the policy."""


def _quoted(text: str) -> str:
    return json.dumps(text) if "'" in text or "\\" in text else f"'{text}'"


def _name(policy: str, rule: str, key: ObjectKey) -> str:
    """Return a name that an API server takes.

    upstream leaves the kind out: of two objects with one name the second's replaces the first's.
    """
    text = "-".join(filter(None, (policy, rule, key.kind, key.namespace, key.name))).lower()
    return _NO_NAME.sub("-", text)[:_MOST_OF_A_NAME].rstrip("-.")
