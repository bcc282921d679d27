"""Where policies look for objects: those of a namespace look there only."""

from kyvsim.migrate.expressions import quoted
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.queries.texts import text_value


def within_place(namespace: str, scope: Scope) -> list[str]:
    """Return the arguments of a look-up that say where: a namespace, "" for none or all.

    `namespace` is a text with variables. Raises NotConvertible for a place outside of the policy's.
    """
    if not scope.namespace:
        return [text_value(namespace, scope).text if namespace else quoted("")]
    if namespace not in {scope.namespace, "{{ request.namespace }}", "{{request.namespace}}"}:
        raise no_twin("a look-up outside of the policy's namespace", "write a ClusterPolicy")
    return []
