"""The Pod of a resource, for the controls of the Pod Security Standards."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.pod_security.controls import CONTAINER_FIELDS, ControlVersion
from kyvsim.migrate.context import ConversionContext
from kyvsim.migrate.expressions import (
    FALSE,
    TRUE,
    Quantified,
    Relation,
    Test,
    every,
    literal,
    one_line,
    opposite,
    some,
)
from kyvsim.migrate.patterns import CONTAINER, joined_loops
from kyvsim.migrate.scalars import like_one
from kyvsim.migrate.values import Expr, element_of
from kyvsim.model.migration import ConversionCondition

# The Pod that controls look at, and what a rule excludes from them.
#
# An exclusion with images is about containers, one without about the Pod itself. What controls
# find is known by the field, and what they forbid there by values: both may limit an exclusion.
#
# Source of the rules: upstream pkg/pss/evaluate.go.

_WHICH_ONE = ConversionCondition(
    "containers let pass",
    "an exclusion without images exempts one of the containers, depending on the order of "
    "exclusions: the new policy takes one whose images are not excluded",
)

Fits: TypeAlias = Callable[[Sequence[str]], Test]
"""Returns the test that all forbidden values of a field fit one of some patterns."""


def fixed(word: str) -> Fits:
    """Return what decides for a value that is always the same where it is forbidden."""
    return lambda patterns: TRUE if any(matches(one, word) for one in patterns) else FALSE


def read(text: str) -> Fits:
    """Return what makes tests of an expression."""
    return lambda patterns: some(like_one(text, list(patterns)))


def nothing(_: Sequence[str]) -> Test:
    """Return that a missing value fits any pattern, as upstream does."""
    return TRUE


def each(source: str, name: str, body: Test) -> Test:
    """Return the test that all elements of a list hold something."""
    return TRUE if body == TRUE else Quantified(source, name, body)


class ControlExclusion(NamedTuple):
    """An exclusion: what it lets pass of a control."""

    images: tuple[str, ...]
    field: str
    values: tuple[str, ...]
    place: int
    """Its index in `exclude`."""

    def is_of(self, field: str) -> bool:
        """Return whether a field is meant."""
        return not self.field or self.field == field

    def has(self, fits: Fits) -> Test:
        """Return the test that forbidden values are meant."""
        return fits(self.values) if self.values else TRUE


class ContainerExpressions(NamedTuple):
    """Each container of one list."""

    value: Expr
    group: str
    exclusions: tuple[ControlExclusion, ...]

    def setting(self, *steps: str) -> Expr:
        """Return something in the security context."""
        return _below(self.value, ("securityContext", *steps))

    def unless_excluded(self, test: Test, field: str, fits: Fits) -> Test:
        """Return a test of a field, or that its value is excluded for the image."""
        image = self.value.child("image").text
        found = (
            every([some(like_one(image, list(one.images))), one.has(fits)])
            for one in self.exclusions
            if one.is_of(f"spec.{self.group}[*].{field}")
        )
        return some([test, *found])


class PodExpressions(NamedTuple):
    """The Pod of an object."""

    context: ConversionContext
    spec: Expr
    annotations: str
    """The expression of its annotations, a map."""
    variant: ControlVersion
    """The check as it is in the version of the rule."""
    own: tuple[ControlExclusion, ...]
    """Exclusions without images."""
    by_image: tuple[ControlExclusion, ...]

    def setting(self, *steps: str) -> Expr:
        """Return something in the Pod's own security context."""
        return _below(self.spec, ("securityContext", *steps))

    def is_windows(self) -> str:
        """Return the variable that is true for Windows Pods."""
        name = _below(self.spec, ("os", "name")).or_else("")
        return self.context.optional_variable("isWindows", f"{name} == 'windows'")

    def words(self, name: str, values: Iterable[str]) -> str:
        """Return the variable of words that are allowed."""
        return self.context.optional_variable(name, literal(sorted(values)))

    def unless_excluded(self, test: Test, field: str, fits: Fits) -> Test:
        """Return a test of a field of the Pod, or that its value is excluded."""
        return some([test, *(one.has(fits) for one in self.own if one.is_of(field))])

    def containers(
        self, body: Callable[[ContainerExpressions], Test], spared: tuple[str, Test] = ("", FALSE)
    ) -> Test:
        """Return the test that all containers hold what `body` makes of those of one list.

        `spared` has a field that may be missing in a container, and the test that this is found
        in one that has nothing: an exclusion without images then lets one container pass.
        """
        loops, apart = [], []
        for group, source in self._lists():
            loop = Quantified(source.or_else([]), CONTAINER, body(self._container(group, source)))
            if loop.body == TRUE:
                continue
            if group == CONTAINER_FIELDS[1] and self._spares(spared[0]):
                apart.append(_but_one(loop, spared[1]))
            else:
                loops.append(loop)
        return every([*apart, *joined_loops(loops, self.context)])

    def some_container(self, body: Callable[[ContainerExpressions], Test]) -> Test:
        """Return the test that what `body` makes holds in a container of some list."""
        loops = (
            Quantified(
                source.or_else([]), CONTAINER, body(self._container(group, source)), "exists"
            )
            for group, source in self._lists()
        )
        return some(joined_loops(loops, self.context))

    def _container(self, group: str, source: Expr) -> ContainerExpressions:
        element = Expr(CONTAINER, element_of(source.types), noun=group)
        return ContainerExpressions(element, group, self.by_image)

    def _lists(self) -> Iterator[tuple[str, Expr]]:
        return ((group, self.spec.child(group)) for group in CONTAINER_FIELDS)

    def _spares(self, field: str) -> bool:
        """Return whether an exclusion without images is about a field of containers."""
        spares = bool(field) and any(
            one.is_of(f"spec.{CONTAINER_FIELDS[1]}[*].{field}") for one in self.own
        )
        if spares and self.by_image:
            self.context.note(_WHICH_ONE)
        return spares


def _below(value: Expr, steps: Iterable[str]) -> Expr:
    for step in steps:
        value = value.child(step)
    return value


def _but_one(loop: Quantified, found: Test) -> Test:
    """Return the test that all elements pass, or all but one where something is found."""
    others = f"{loop.source}.filter({loop.name}, {one_line(opposite(loop.body))})"
    return some([loop, every([found, Relation(f"size({others})", "<=", "1")])])
