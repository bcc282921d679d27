"""The lookups of policies besides the object of a request, and the objects created for them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kyvsim.engine.world import DelegatingView, GivenObjects
from kyvsim.equivalence.cases import IMAGE_SOURCES, Case, Space
from kyvsim.equivalence.edits import Edit, distinct, edit_to, edits, samples
from kyvsim.equivalence.field_rules import image_type, leads_somewhere, type_of
from kyvsim.equivalence.objects import NAMESPACE, KindName, smallest
from kyvsim.kubernetes.discovery import KindTable, is_namespaced_in_cluster, split_api_version
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, metadata, object_key
from kyvsim.model.field_reference import FieldPath, Segment
from kyvsim.model.values import ImageData
from kyvsim.schema.merge_types import FindType, Type

_T = TypeVar("_T")
IMAGE = "Image"
"""The kind of image data, which has no apiVersion."""


@dataclass
class LookupLog:
    """Records the lookups of one evaluation."""

    missed: dict[ObjectKey, None] = field(default_factory=dict)
    """Missing objects; without a name: an empty list."""
    placeholders: dict[ObjectKey, None] = field(default_factory=dict)
    """Objects that exist only because the request needs them."""
    found: int = 0
    """How many lookups succeeded."""

    def forget(self) -> None:
        """Clear the log."""
        self.missed.clear()
        self.placeholders.clear()
        self.found = 0


class RecordingCluster(DelegatingView):
    """A `ClusterView` over given objects that records lookups."""

    def __init__(
        self,
        objects: Sequence[KubernetesObject],
        definitions: Sequence[KubernetesObject],
        lookups: LookupLog,
        placeholder: KubernetesObject | None = None,
    ) -> None:
        """Record lookups in given objects; `placeholder` is one of them, or None."""
        super().__init__(GivenObjects(objects, definitions))
        self._lookups = lookups
        self._placeholder = None if placeholder is None else object_key(placeholder)

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        found = self._view.get(api_version, kind, namespace, name)
        key = ObjectKey(api_version, kind, namespace, name)
        if found is None:
            self._lookups.missed[key] = None
        else:
            self._lookups.found += 1
            if key == self._placeholder:
                self._lookups.placeholders[key] = None
        return found

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all)."""
        found = self._view.list(api_version, kind, namespace)
        if found:
            self._lookups.found += 1
        else:
            self._lookups.missed[ObjectKey(api_version, kind, namespace, "")] = None
        return found


class RecordingImages(Mapping[str, _T]):
    """Image data by reference, in any spelling; records lookups."""

    def __init__(
        self,
        given: Mapping[str, _T],
        made: Iterable[KubernetesObject],
        lookups: LookupLog,
        read: Callable[[KubernetesObject], _T],
    ) -> None:
        """Look up given data and data created for a case, which `read` converts."""
        self._given = given
        self._made = {whole_reference(one["image"]): read(one) for one in made}
        self._lookups = lookups

    def __getitem__(self, reference: str) -> _T:
        found = self._given.get(reference) or self._made.get(whole_reference(reference))
        if found is None:
            self._lookups.missed[ObjectKey("", IMAGE, "", reference)] = None
            raise KeyError(reference)
        self._lookups.found += 1
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**self._given, **self._made})

    def __len__(self) -> int:
        return len({**self._given, **self._made})


def whole_reference(text: str) -> str:
    """Return an image reference with its registry and tag; other strings are unchanged."""
    try:
        return parse_image(text).reference
    except ValueError:
        return text


NAME = "there"
"""The name of objects that are only listed."""
_MOST = 6
"""The maximum number of objects, unless a policy counts them."""
_MOST_COUNTED = 12
_DIGEST = f"sha256:{'0' * 64}"
_SPELLED: Mapping[str, str] = {"configData": "config", "manifestList": "imageIndex"}
"""Names of image data in classic and in CEL policies."""
_IN_LISTS: FieldPath = ("items", Segment.ELEMENT)


def is_image(answer: KubernetesObject) -> bool:
    """Return whether an answer is image data, not an object."""
    return "kind" not in answer


def recorded(answer: KubernetesObject) -> ImageData:
    """Return image data in the form that rules read."""
    return ImageData(
        digest=answer["digest"],
        manifest=answer.get("manifest"),
        manifest_list=answer.get("imageIndex"),
        config=answer.get("config"),
    )


class LookupAnswers:
    """Creates answers for the lookups of cases, and changes them."""

    def __init__(self, space: Space, kinds: KindTable, find: FindType) -> None:
        """Use the paths that policies read in answers, by the name of the source, with values."""
        self._read = space.read
        self._kinds = kinds
        self._find = find
        self._edits: dict[tuple[str, str], list[Edit]] = {}
        self._fillings: dict[tuple[str, str], list[Edit]] = {}
        """By apiVersion and kind, a change for each path that policies read."""
        counted = (
            one for path, some in space.sizes.items() if path[1:2] == ("items",) for one in some
        )
        sizes = {size for one in counted for size in (one, one + 1)}
        self._sizes = sorted({2} | {size for size in sizes if 1 < size <= _MOST_COUNTED})

    def answered(self, case: Case, lookups: Iterable[ObjectKey]) -> Iterator[Case]:
        """Yield the case with answers to its lookups: minimal ones, full ones, similar ones."""
        made = self._made(tuple(lookups), case.there)
        full = tuple(map(self._filled, made))
        # Policies that look up a ConfigMap read its data.
        bare = tuple(one for one in made if one.get("kind") != "ConfigMap")
        alike = tuple(one if is_image(one) else _like(case.object, one) for one in full)
        # Equal answers are tried only once.
        found: dict[str, tuple[KubernetesObject, ...]] = {}
        for some in (bare, full, alike):
            found.setdefault(json.dumps(some, sort_keys=True, default=str), some)
        for some in found.values():
            # New answers replace those with the same name.
            new = {_identity(one) for one in some}
            there = (*(one for one in case.there if _identity(one) not in new), *some)[-_MOST:]
            if there != case.there:
                yield case._replace(there=there, given=False)

    def changed(self, case: Case) -> Iterator[tuple[Edit | None, Case]]:
        """Yield a case with its answers changed, and each change; None if their number changed."""
        for place, answer in enumerate(case.there):
            before, after = case.there[:place], case.there[place + 1 :]
            key = _kind_of(answer)
            if key not in self._edits:
                root, places = self.root(answer), self.places(answer).items()
                self._edits[key] = distinct(
                    edit for path, values in places for edit in _changes(answer, root, path, values)
                )
            for edit in self._edits[key]:
                changed = edit(answer)
                if changed is not answer and changed.__class__ is dict:
                    yield edit, case._replace(there=(*before, changed, *after), given=False)
            # Several copies, with different names: as many as policies compare with.
            for size in () if is_image(answer) else self._sizes:
                more = (
                    {**answer, "metadata": {**metadata(answer), "name": f"{NAME}-{number}"}}
                    for number in range(1, size)
                )
                yield None, case._replace(there=(*case.there, *more), given=False)
            if before or after:
                yield None, case._replace(there=(*before, *after), given=False)

    def _made(
        self, lookups: Sequence[ObjectKey], there: Sequence[KubernetesObject]
    ) -> list[KubernetesObject]:
        named = [one for one in lookups if one.name]
        # A kind that is listed in a namespace is not read in others.
        lists = {(one.api_version, one.kind): one for one in sorted(lookups) if not one.name}
        made = (_made(key, there, self._kinds) for key in named or lists.values())
        return list({_identity(one): one for one in made if one is not None}.values())

    def _filled(self, answer: KubernetesObject) -> KubernetesObject:
        """Return an answer with a value at every path that policies read."""
        key = _kind_of(answer)
        if key not in self._fillings:
            root, places = self.root(answer), self.places(answer).items()
            changes = (_changes(answer, root, path, values) for path, values in places)
            self._fillings[key] = [some[0] for some in changes if some]
        for edit in self._fillings[key]:
            filled = edit(answer)
            answer = filled if isinstance(filled, dict) else answer
        return answer

    def root(self, answer: KubernetesObject) -> Type | None:
        """Return the type of an answer, None if it is unknown."""
        return image_type() if is_image(answer) else type_of(answer, self._find)

    def places(self, answer: KubernetesObject) -> Mapping[FieldPath, tuple[object, ...]]:
        """Return the paths in an answer that policies read, with their values for them."""
        root = self.root(answer)
        found: dict[FieldPath, tuple[object, ...]] = {}
        for (source, *steps), values in self._read.items():
            path = _path_in(answer, str(source), tuple(steps))
            if path and leads_somewhere(root, path):
                found[path] = (*found.get(path, ()), *values)
        return found


def _kind_of(answer: KubernetesObject) -> tuple[str, str]:
    """Return apiVersion and kind of an answer, on which its paths and changes depend."""
    return answer.get("apiVersion", ""), answer.get("kind", "")


def _path_in(answer: KubernetesObject, source: str, steps: FieldPath) -> FieldPath:
    """Return the path in an answer for a path in data of a source, () if there is none."""
    if is_image(answer) != (source in IMAGE_SOURCES):
        return ()
    if source == "configMap" and answer["kind"] != "ConfigMap":
        return ()
    if is_image(answer):
        return tuple(_SPELLED.get(one, one) if isinstance(one, str) else one for one in steps)
    path = steps[2:] if steps[:2] == _IN_LISTS else steps
    if path[:1] == (Segment.ELEMENT,):
        # A GlobalContextEntry stores the objects of a kind as a list.
        path = path[1:]
    # An answer is an object: a path that starts with an element does not apply to it.
    return path if path and path != ("items",) and isinstance(path[0], str) else ()


def _changes(
    answer: KubernetesObject, root: Type | None, path: FieldPath, values: Sequence[object]
) -> list[Edit]:
    """Return the changes of an answer at a path.

    A string of a ConfigMap becomes other strings, and JSON lists. It is never empty or incomplete
    JSON, which policies could not read.
    """
    if answer.get("kind") != "ConfigMap" or path[:1] != ("data",):
        return edits(root, path, values)[0]
    written = (one for one in samples(values) if isinstance(one, str))
    texts = [one for one in written if one and not one.startswith("[")] or ["a", "b"]
    lists = (json.dumps(texts[:1]), json.dumps(texts[:3]))
    if len(path) == 1:
        return []
    return [edit_to(root, path, one) for one in dict.fromkeys((*texts, *lists))]


def _identity(answer: KubernetesObject) -> tuple[str, ...]:
    if is_image(answer):
        return ("", IMAGE, "", whole_reference(answer["image"]))
    key = object_key(answer)
    return (split_api_version(key.api_version)[0], key.kind, key.namespace, key.name)


def _made(
    key: ObjectKey, there: Sequence[KubernetesObject], kinds: KindTable
) -> KubernetesObject | None:
    """Return the answer to a lookup, None for none; based on an existing object of its kind."""
    group, version = split_api_version(key.api_version)
    if key.kind == "GlobalContextEntry":
        # The data of an entry is unknown: only given entries have any.
        return None
    alike = (one for one in there if _identity(one)[:2] == (group, key.kind))
    if (group, key.kind) == ("", IMAGE):
        return _image(key.name, next(alike, {"manifest": {}, "config": {}}))
    kind = KindName(group, version, key.kind)
    made = next(alike, None) or smallest(kind, kinds)
    own = {name: one for name, one in metadata(made).items() if name != "namespace"}
    own["name"] = key.name or NAME
    # An object that is looked up by name is in the namespace of the lookup, whatever its kind.
    is_spread = not key.name and is_namespaced_in_cluster(group, key.kind, kinds)
    within = key.namespace or (NAMESPACE if is_spread else "")
    if within:
        own["namespace"] = within
    return {**made, "apiVersion": kind.api_version, "metadata": own}


def _image(text: str, model: KubernetesObject) -> KubernetesObject | None:
    """Return a registry's data of an image, with the contents of a model; None if it is not one.

    upstream: kyverno/sdk extensions/imagedataloader
    """
    try:
        image = parse_image(text)
    except ValueError:
        return None
    whole = f"{image.registry}/{image.path}"
    tagged = f"{whole}:{image.tag}" if image.tag else whole
    digest = image.digest or _DIGEST
    return {
        **model,
        "image": text,
        "resolvedImage": f"{tagged}@{digest}",
        **image.as_data(),
        "digest": digest,
    }


def _like(obj: KubernetesObject, answer: KubernetesObject) -> KubernetesObject:
    """Return an answer that is as similar as possible to the object of a case.

    One of the same kind has the same contents, a listed one the same name.
    """
    own, key = object_key(obj), object_key(answer)
    is_same = key.kind == own.kind
    model = obj if is_same else answer
    is_listed = key.name == NAME and (key.kind, key.namespace) != (own.kind, own.namespace)
    place = {"namespace": key.namespace} if key.namespace else {}
    meta = {**metadata(model), **place, "name": own.name if is_listed else key.name}
    return {**model, "apiVersion": key.api_version, "kind": key.kind, "metadata": meta}
