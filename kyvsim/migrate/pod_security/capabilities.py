"""Linux capabilities that containers add and drop."""

from collections.abc import Iterable

from kyvsim.languages.classic.pod_security.capabilities import ALL, DEFAULT, MAY_ADD
from kyvsim.migrate.expressions import Each, Relation, Test, every, quoted, some
from kyvsim.migrate.pod_security.pod import Container, Pod
from kyvsim.migrate.values import Value
from kyvsim.migrate.wildcards import like_one

_NAME = "capability"


def baseline(pod: Pod) -> Test:
    """No more than the default set may be added."""
    listed = pod.words("defaultCapabilities", DEFAULT)
    return pod.containers(lambda one: _added(one, Relation(_NAME, "in", listed)))


def restricted(pod: Pod) -> Test:
    """All must be dropped, and only a few may be added."""
    may_add = some(like_one(_NAME, sorted(MAY_ADD)))
    return pod.containers(lambda one: every([_dropped(one), _added(one, may_add)]))


def _added(one: Container, allowed: Test) -> Test:
    added = one.setting("capabilities", "add")
    return one.unless_excused(
        _each(added, [allowed]),
        "securityContext.capabilities.add",
        lambda patterns: _each(added, [allowed, *like_one(_NAME, list(patterns))]),
    )


def _dropped(one: Container) -> Test:
    dropped = one.setting("capabilities", "drop")
    return one.unless_excused(
        Relation(quoted(ALL), "in", dropped.or_else([])),
        "securityContext.capabilities.drop",
        lambda patterns: _each(dropped, like_one(_NAME, list(patterns))),
    )


def _each(listed: Value, allowed: Iterable[Test]) -> Test:
    return Each(listed.or_else([]), _NAME, some(allowed))
