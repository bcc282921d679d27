"""A second matcher that reads match blocks directly, and the compiled one: they must agree.

It shares the wildcard function and the reading of kind selectors, nothing else.
"""

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st
from match_blocks import block, rule_match

from kyvsim.engine.match import kinds_of_block, match_facts
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo

# --- the slow matcher ---------------------------------------------------------------------------


def rule_applies(rule, case):
    if not block_holds(rule["match"], case, excluding=False):
        return False
    exclude = rule.get("exclude")
    return not (exclude and block_holds(exclude, case, excluding=True))


def block_holds(block, case, *, excluding):
    if block.get("any"):
        return any(filter_holds(one, case, excluding=excluding) for one in block["any"])
    if block.get("all"):
        return all(filter_holds(one, case, excluding=excluding) for one in block["all"])
    return filter_holds(block, case, excluding=excluding)


def filter_holds(block, case, *, excluding):
    resources = {name: value for name, value in (block.get("resources") or {}).items() if value}
    users = {name: block[name] for name in ("roles", "clusterRoles", "subjects") if name in block}
    if not excluding:
        # An empty list asks for nobody here, but excludes everybody where it stands alone.
        users = {name: value for name, value in users.items() if value and case["user"]}
    if not resources and not users:
        return False
    users = {name: value for name, value in users.items() if value}
    answers = [RESOURCE_QUESTIONS[name](value, case) for name, value in resources.items()]
    answers += [user_answers(name, value, case["user"] or NOBODY) for name, value in users.items()]
    return all(answers)


def like(pattern, text):
    return fnmatchcase(text, pattern)


def kinds_hold(selectors, case):
    for text in selectors:
        group, version, kind, subresource = parse_kind_selector(text)
        wanted = (like(kind, case["kind"]), like(group, case["group"]), like(version, "v1"))
        if all(wanted) and subresource in ("", "*"):
            return True
    return False


def namespaces_hold(patterns, case):
    place = case["name"] if case["kind"] == "Namespace" else case["namespace"]
    return any(like(pattern, place) for pattern in patterns)


def annotations_hold(wanted, case):
    for key, value in wanted.items():
        found = [k for k, v in case["annotations"].items() if like(key, k) and like(value, v)]
        if not found:
            return False
    return True


def labels_hold(selector, labels):
    for key, value in selector["matchLabels"].items():
        if not [k for k, v in labels.items() if like(key, k) and like(value, v)]:
            return False
    return True


def user_answers(name, wanted, user):
    if name == "roles":
        return bool(set(wanted) & set(user.roles))
    if name == "clusterRoles":
        return bool(set(wanted) & set(user.cluster_roles))
    for subject in wanted:
        if subject["kind"] == "User" and like(subject["name"], user.username):
            return True
        if subject["kind"] == "Group" and [g for g in user.groups if like(subject["name"], g)]:
            return True
    return False


NOBODY = UserInfo()
RESOURCE_QUESTIONS = {
    "kinds": kinds_hold,
    "names": lambda patterns, case: any(like(pattern, case["name"]) for pattern in patterns),
    "namespaces": namespaces_hold,
    "operations": lambda wanted, case: case["operation"] in wanted,
    "annotations": annotations_hold,
    "selector": lambda selector, case: labels_hold(selector, case["labels"]),
    "namespaceSelector": lambda selector, case: (
        case["kind"] != "Namespace" and labels_hold(selector, case["namespace_labels"])
    ),
}

# --- cases from few words, so that they meet ------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "ab"])
PATTERNS = st.sampled_from(["a", "b", "*", "?", "a*", "?b", "*b*"])
LABELS = st.dictionaries(WORDS, WORDS, max_size=2)
SELECTORS = st.fixed_dictionaries(
    {"matchLabels": st.dictionaries(PATTERNS, PATTERNS, min_size=1, max_size=2)}
)
SUBJECTS = st.fixed_dictionaries({"kind": st.sampled_from(["User", "Group"]), "name": PATTERNS})
KINDS = st.sampled_from(
    [
        "Pod",
        "P*",
        "*",
        "v1/Pod",
        "apps/v1/Deployment",
        "Namespace",
        "*/*",
        "Pod/exec",
        "*/Deployment",
    ]
)
RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        "kinds": st.lists(KINDS, max_size=2),
        "names": st.lists(PATTERNS, max_size=2),
        "namespaces": st.lists(PATTERNS, max_size=2),
        "operations": st.lists(st.sampled_from(["CREATE", "UPDATE"]), max_size=2),
        "annotations": st.dictionaries(PATTERNS, PATTERNS, max_size=2),
        "selector": SELECTORS,
        "namespaceSelector": SELECTORS,
    },
)
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "resources": RESOURCES,
        "roles": st.lists(WORDS, max_size=2),
        "clusterRoles": st.lists(WORDS, max_size=2),
        "subjects": st.lists(SUBJECTS, max_size=2),
    },
)
BLOCKS = st.one_of(
    FILTERS,
    st.fixed_dictionaries({"any": st.lists(FILTERS, max_size=3)}),
    st.fixed_dictionaries({"all": st.lists(FILTERS, max_size=3)}),
)
RULES = st.fixed_dictionaries({"match": BLOCKS}, optional={"exclude": BLOCKS})
USERS = st.builds(
    UserInfo,
    username=WORDS,
    uid=st.just(""),
    extra=st.none(),
    groups=st.lists(WORDS, max_size=2).map(tuple),
    roles=st.lists(WORDS, max_size=2).map(tuple),
    cluster_roles=st.lists(WORDS, max_size=2).map(tuple),
)
CASES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["Pod", "Deployment", "Namespace"]),
        "name": WORDS,
        "namespace": st.sampled_from(["", "a", "b"]),
        "labels": LABELS,
        "annotations": LABELS,
        "namespace_labels": LABELS,
        "operation": st.sampled_from(["CREATE", "UPDATE"]),
        "user": st.none() | USERS,
    }
)


def facts_of(case):
    case["group"] = "apps" if case["kind"] == "Deployment" else ""
    names = ("name", "namespace", "labels", "annotations")
    obj = {
        "apiVersion": "apps/v1" if case["group"] else "v1",
        "kind": case["kind"],
        "metadata": {name: case[name] for name in names},
    }
    request = AdmissionRequest(Operation(case["operation"]), obj, user=case["user"])
    return match_facts(request, obj, case["namespace_labels"])


@given(RULES, CASES)
def test_both_matchers_agree(rule, case):
    compiled = rule_match(rule["match"], rule.get("exclude"))
    facts = facts_of(case)
    assert compiled(facts) is rule_applies(rule, case)


@given(RULES, CASES)
def test_a_rule_that_applies_has_the_kind_in_its_index(rule, case):
    facts = facts_of(case)
    kinds = kinds_of_block(block(rule["match"]))
    if rule_match(rule["match"])(facts):
        assert kinds is None or facts.kind in kinds
