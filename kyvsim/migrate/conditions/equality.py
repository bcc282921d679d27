"""Equals and NotEquals."""

from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.migrate.expressions import RELATION, Plain, Relation, Test, literal, opposite
from kyvsim.migrate.known_types import is_bool, is_list, is_map, is_number, is_text
from kyvsim.migrate.scalars import amount_test, is_amount
from kyvsim.migrate.values import Value
from kyvsim.migrate.wildcards import like
from kyvsim.model.migration import Condition

READ_TEXTS = Condition(
    "texts read at run time", "they hold no wildcards, which a ClusterPolicy would take as such"
)


def equals(key: Value, value: Value) -> Test:
    """Return the test that a key equals a value; a fixed text is a wildcard pattern."""
    if value.constant:
        return _equals_constant(key, value.constant[0])
    return equals_read(key, value)


def equals_read(key: Value, value: Value) -> Test:
    """Return the test that a key equals what is read; data of the cluster may hold wildcards."""
    if not value.is_looked_up:
        return Relation(key.tight(RELATION + 1), "==", value.tight(RELATION + 1))
    return fits_read(key.tight(), value.tight())


def fits_read(text: str, pattern: str) -> Test:
    """Return the test that a text fits a wildcard text that is read; both bind tightly."""
    # Between \Q and \E nothing has a meaning but the two wildcards.
    sign = rf"{pattern}.replace('*', '\\E.*\\Q').replace('?', '\\E.\\Q')"
    return Plain(rf"{text}.matches('^\\Q' + {sign} + '\\E$')")


def not_equals(key: Value, value: Value) -> Test:
    """Return the test that a key differs from a value."""
    return opposite(equals(key, value))


def _equals_constant(key: Value, wanted: Json) -> Test:
    text = key.tight(RELATION + 1)
    if isinstance(wanted, bool):
        if key.test is not None:
            return key.test if wanted else opposite(key.test)
        return Relation(text, "==", literal(wanted))
    if is_list(key.types) and (wanted,) == key.fallback and not wanted:
        return Relation(f"size({key.text})", "==", "0")
    if is_map(key.types) and (wanted,) == key.fallback and not wanted and key.asked:
        return Relation(f"size({key.asked}.orValue({{}}))", "==", "0")
    if not isinstance(wanted, str):
        number = float(wanted) if key.is_double and isinstance(wanted, int) else wanted
        return Relation(text, "==", literal(number))
    if is_number(key.types) or is_bool(key.types):
        return _scalar_equals(key, text, wanted)
    if is_amount(wanted):
        return amount_test(key, "==", wanted)
    if has_wildcard(wanted) and not is_text(key.types):
        return like(f"string({key.text})", wanted)
    return like(key.tight(), wanted) if has_wildcard(wanted) else like(text, wanted)


def _scalar_equals(key: Value, text: str, wanted: str) -> Test:
    """Return the test of a number or truth value against a text: truth values equal none."""
    if is_number(key.types) and wanted.isdecimal():
        return Relation(text, "==", wanted)
    return Relation(f"string({key.text})", "==", literal(wanted))
