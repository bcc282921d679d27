"""A call of kubectl: its arguments, and the kinds and objects that they select."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw.environment import STDERR, STDOUT, Printed, Result, ShellEnvironment
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.unsupported import require_simulated, require_written
from kyvsim.kubernetes.discovery import (
    kinds_named,
    preferred_version,
    served_versions,
    split_api_version,
)
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, labels, object_key, text_field
from kyvsim.kubernetes.quantities import SECOND, parse_duration
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import ApiError, ApiResponse, Client, ObjectStore, errors
from kyvsim.simulator.api_server.server import ADMIN


class NamedKind(NamedTuple):
    """A kind, and the apiVersion under which it is requested."""

    api_version: str
    kind: str


def shown_kind(api_version: str, kind: str) -> str:
    """Return the name of a kind in kubectl's output: `pod`, `deployment.apps`."""
    group = split_api_version(api_version)[0]
    return f"{kind.lower()}.{group}" if group else kind.lower()


def shown_name(key: ObjectKey) -> str:
    """Return the name of an object in kubectl's output: `pod/name`, `deployment.apps/name`."""
    return f"{shown_kind(key.api_version, key.kind)}/{key.name}"


# kubectl's arguments: words, and flags by their long names.
#
# Source of the names: kubectl's own help.


class Flags(NamedTuple):
    """The flags of a program, by their long names."""

    program: str
    bare: frozenset[str]
    """Flags without a value, or with one after `=`."""
    valued: frozenset[str]
    short: Mapping[str, str]
    """Long names by letter."""


_BARE = frozenset(
    {"all", "all-namespaces", "cascade", "command", "dry-run", "force", "ignore-not-found", "list"}
    | {"no-headers", "now", "overwrite", "quiet", "recursive", "server-side", "stdin", "tty"}
    | {"wait"}
)
_VALUED = frozenset(
    {"annotations", "as", "as-group", "as-uid", "clusterrole", "container", "context", "env"}
    | {"field-manager", "filename", "for", "from-literal", "grace-period", "group", "image"}
    | {"kubeconfig", "labels", "namespace", "output", "patch", "patch-file", "port", "profile"}
    | {"replicas", "request-timeout", "resource", "restart", "role", "schedule", "selector"}
    | {"serviceaccount", "subresource", "target", "timeout", "type", "user", "verb"}
)
_SHORT = MappingProxyType(
    {"A": "all-namespaces", "R": "recursive", "c": "container", "f": "filename", "i": "stdin"}
    | {"l": "selector", "n": "namespace", "o": "output", "p": "patch", "q": "quiet", "t": "tty"}
)
_FLAGS = Flags("kubectl", _BARE, _VALUED, _SHORT)


class ProgramArguments(NamedTuple):
    """The arguments of a program."""

    words: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]]
    command: tuple[str, ...]
    """The arguments after `--`."""

    def value(self, name: str, default: str = "") -> str:
        """Return the last value of a flag."""
        return self.flags[name][-1] if name in self.flags else default

    def values(self, name: str) -> list[str]:
        """Return all values of a flag, split at commas."""
        return [one for text in self.flags.get(name, ()) for one in text.split(",") if one]

    def is_set(self, name: str, *, default: bool = False) -> bool:
        """Return whether a flag is set."""
        return self.flags[name][-1] != "false" if name in self.flags else default


def read_arguments(arguments: tuple[str, ...], known: Flags = _FLAGS) -> ProgramArguments:
    """Return the words and flags; raise UnsupportedError for an unknown flag."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    words: list[str] = []
    flags: dict[str, tuple[str, ...]] = {}
    rest = iter(arguments[:place])
    for argument in rest:
        if argument == "-" or not argument.startswith("-"):
            words.append(argument)
            continue
        name, assigned, text = argument[2:].partition("=")
        given = text if assigned else None
        if not argument.startswith("--"):
            name, letters = known.short.get(argument[1], argument[1]), argument[2:]
            while name in known.bare and letters and not letters.startswith("="):
                flags[name] = (*flags.get(name, ()), "true")
                name, letters = known.short.get(letters[0], letters[0]), letters[1:]
            given = letters.removeprefix("=") if letters else None
        flags[name] = (*flags.get(name, ()), _value(known, name, given, rest))
    return ProgramArguments(tuple(words), flags, arguments[place + 1 :])


def _value(known: Flags, name: str, given: str | None, rest: Iterator[str]) -> str:
    if name in known.bare:
        return "true" if given is None else given
    if name not in known.valued:
        raise UnsupportedError(f"the flag `{name}` of {known.program}")
    if given is not None:
        return given
    value = next(rest, None)
    if value is None:
        raise UnsupportedError(f"the flag `{name}` of {known.program} without a value")
    return value


_DENIED = "admission webhook "
_COUNT = re.compile(r"[+-]?[0-9]{1,9}")
_NO_MATCH = "NoKindMatch"


class KubectlError(Exception):
    """A call that failed before a request was sent; the text goes to standard error."""


class KubectlCall(NamedTuple):
    """The input of a kubectl command."""

    invocation: ProgramArguments
    stdin: str
    environment: ShellEnvironment

    @property
    def store(self) -> ObjectStore:
        """The object store of the cluster."""
        return self.environment.session.sim.store

    @property
    def user(self) -> UserInfo:
        """The user of its requests: the administrator, or the one in `--as`."""
        name = self.invocation.value("as")
        if not name:
            return ADMIN
        groups = self.invocation.values("as-group")
        if name.startswith("system:serviceaccount:"):
            namespace = name.split(":")[2]
            groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
        return UserInfo(name, groups=(*groups, "system:authenticated"))

    @property
    def client(self) -> Client:
        """The API client of that user."""
        return self.environment.session.sim.client(self.user)

    @property
    def namespace(self) -> str:
        """The namespace for objects without one."""
        return self.invocation.value("namespace") or "default"

    def seconds(self, flag: str, default: str) -> float:
        """Return the seconds of a flag; raise KubectlError if it is not a duration."""
        text = self.invocation.value(flag, default)
        nanoseconds = parse_duration(text)
        if nanoseconds is None:
            about = f'error: invalid argument "{text}" for "--{flag}" flag'
            raise KubectlError(f'{about}: time: invalid duration "{text}"')
        return nanoseconds / SECOND

    def whole_number(self, flag: str, default: str) -> int:
        """Return the integer of a flag; raise KubectlError if it is invalid."""
        text = self.invocation.value(flag, default)
        if not _COUNT.fullmatch(text):
            about = f'error: invalid argument "{text}" for "--{flag}" flag'
            raise KubectlError(f'{about}: strconv.ParseInt: parsing "{text}": invalid syntax')
        return int(text)

    def kind(self, name: str) -> NamedKind:
        """Return the kind of a name such as `pods`, `po`, `deployments.apps` or `jobs.v1.batch`.

        Raises KubectlError for an unknown one, UnsupportedError for one that is not simulated.
        upstream: k8s.io/cli-runtime pkg/resource/builder.go `mappingFor`.
        """
        base, _, rest = name.partition(".")
        version, _, of_version = rest.lower().partition(".")
        defined = self.store.defined
        for group, kind in kinds_named(base.lower(), defined):
            # In `policyexceptions.policies.kyverno.io`, `policies` is no version of `kyverno.io`.
            if of_version != group or version not in served_versions(group, kind, defined):
                if rest.lower() not in ("", group):
                    continue
                version = preferred_version(group, kind, defined)
            named = NamedKind(f"{group}/{version}" if group else version, kind)
            require_simulated(ObjectKey(*named, "", ""))
            return named
        raise KubectlError(f'error: the server doesn\'t have a resource type "{base}"')

    def get(self, key: ObjectKey) -> KubernetesObject | None:
        """Return the object with a key, or None.

        Raises UnsupportedError if it is missing because the simulation does not write it.
        """
        obj = self.client.get(*key)
        if obj is None:
            require_written(key, self.store)
        return obj

    def not_found(self, key: ObjectKey) -> Result:
        """Return the failure for an object that does not exist."""
        return Result(1, (failure(errors.not_found(key, self.store.defined)),))

    def key(self, kind: NamedKind, name: str) -> ObjectKey:
        """Return the key of an object of a kind, in the namespace of the call."""
        namespaced = self.store.is_namespaced(*kind)
        return ObjectKey(*kind, self.namespace if namespaced else "", name)

    def placed(self, obj: KubernetesObject) -> KubernetesObject:
        """Return an object from a file in the namespace of the call, unless it has another."""
        return self.environment.session.placed(obj, self.namespace)


def named_objects(call: KubectlCall, words: tuple[str, ...]) -> list[tuple[NamedKind, str]]:
    """Return the kinds and names in `TYPE NAME…` or `TYPE/NAME…`; "" for all objects of a kind."""
    if not words:
        raise KubectlError("error: You must provide one or more resources by argument or filename.")
    if "/" in words[0]:
        pairs = [word.partition("/") for word in words]
        return [(call.kind(kind), name) for kind, _, name in pairs]
    kinds = [call.kind(one) for one in words[0].split(",")]
    return [(kind, name) for kind in kinds for name in words[1:] or ("",)]


def named_keys(call: KubectlCall, words: tuple[str, ...]) -> list[ObjectKey]:
    """Return the keys of the objects that words name, or that flags select."""
    keys: list[ObjectKey] = []
    for kind, name in named_objects(call, words):
        keys += [call.key(kind, name)] if name else map(object_key, chosen(call, kind))
    return keys


def timed_out(key: ObjectKey) -> Printed:
    """Return kubectl's error for a timeout."""
    text = f"error: timed out waiting for the condition on {key.kind.lower()}s/{key.name}\n"
    return Printed(STDERR, text)


def failure(error: ApiError, about: str = "") -> Printed:
    """Return kubectl's message for an API error; `about` describes the attempted action.

    Source of the texts: kubectl pkg/cmd/util/helpers.go.
    """
    message = f"{about}: {error.message}" if about else error.message
    if error.reason == "Invalid":
        kind, _, name = re.split(" is (?:invalid|forbidden): ", error.message)[0].partition(" ")
        fields = dict.fromkeys(f"{one.get('field', '')}: {one['message']}" for one in error.causes)
        listed = next(iter(fields)) if len(fields) == 1 else "".join(f"\n* {one}" for one in fields)
        return Printed(STDERR, f"The {kind.partition('.')[0]} {name} is invalid: {listed}\n")
    if error.reason == _NO_MATCH:
        return Printed(STDERR, f"error: {message}\n")
    reason = "" if error.message.startswith(_DENIED) or not error.reason else f" ({error.reason})"
    return Printed(STDERR, f"Error from server{reason}: {message}\n")


def warnings_of(call: KubectlCall, kinds: Iterable[NamedKind]) -> tuple[Printed, ...]:
    """Return what kubectl prints about requested kinds that are deprecated, each text once."""
    server = call.environment.session.sim.server
    texts = dict.fromkeys(server.deprecation(*kind) for kind in kinds)
    return tuple(Printed(STDERR, f"Warning: {text}\n") for text in texts if text)


def answer(response: ApiResponse, done: str, about: str = "") -> Result:
    """Return kubectl's output for a response: warnings, then `done` or the error."""
    printed = [Printed(STDERR, f"Warning: {one}\n") for one in response.warnings]
    if response.error is not None:
        return Result(1, (*printed, failure(response.error, about)))
    return Result(0, (*printed, Printed(STDOUT, f"{done}\n")))


def together(results: list[Result]) -> Result:
    """Join several results, with each warning once; it fails if one of them failed."""
    printed, warned = [], set[str]()
    for one in (one for result in results for one in result.printed):
        if one.text not in warned:
            printed.append(one)
        if one.text.startswith("Warning: "):
            warned.add(one.text)
    return Result(max((result.status for result in results), default=0), tuple(printed))


def chosen(call: KubectlCall, kind: NamedKind) -> list[KubernetesObject]:
    """Return the objects of a kind that `--namespace`, `-A` and `--selector` select."""
    everywhere = call.invocation.is_set("all-namespaces")
    namespace = "" if everywhere else call.key(kind, "").namespace
    requirements = [_equality(one) for one in call.invocation.values("selector")]
    objects = call.client.list(kind.api_version, kind.kind, namespace)
    for key, value, same in requirements:
        objects = [one for one in objects if (labels(one).get(key) == value) is same]
    if not objects:
        require_written(ObjectKey(*kind, namespace, ""), call.store)
    return list(objects)


def _equality(text: str) -> tuple[str, str, bool]:
    for operator, same in (("!=", False), ("==", True), ("=", True)):
        key, separator, value = text.partition(operator)
        if separator:
            return key, value, same
    raise UnsupportedError(f"the selector `{text}` of kubectl")


_SHOWN = 1_000


def from_files(call: KubectlCall) -> list[tuple[str, KubernetesObject]]:
    """Return the objects in the files; raise KubectlError if one cannot be read."""
    named: list[tuple[str, KubernetesObject]] = []
    for name in call.invocation.values("filename"):
        objects, why = call.environment.objects(name, call.stdin)
        if why:
            raise KubectlError(f"error: {why}")
        shown = "STDIN" if name == "-" else name
        for one in (one for document in objects for one in _listed(document)):
            obj = _usable(one, shown)
            require_simulated(object_key(obj))
            named.append((shown, call.placed(obj)))
    if not named:
        given = "filename" in call.invocation.flags
        text = "no objects passed to apply" if given else "must specify one of -f and -k"
        raise KubectlError(f"error: {text}")
    return named


def _listed(document: object) -> list[object]:
    """Return the objects of a document: the items of a List, or the document itself."""
    items = document.get("items") if isinstance(document, dict) else None
    if isinstance(items, list) and object_key(document).kind.endswith("List"):
        return items
    return [document]


def _usable(obj: object, name: str) -> KubernetesObject:
    """Return an object of a file; raise KubectlError if it is invalid.

    Source of the texts: k8s.io/apimachinery, errors of decoding unstructured objects.
    """
    if not isinstance(obj, dict):
        kinds = {list: "array", str: "string", bool: "bool"}
        kind = kinds.get(obj.__class__, "number")
        into = "Go value of type map[string]interface {}"
        text = f"json: cannot unmarshal {kind} into {into}"
        raise KubectlError(f"error: error parsing {name}: {text}")
    shown = json.dumps(obj, separators=(",", ":"), ensure_ascii=False)[:_SHOWN]
    for field in ("kind", "apiVersion"):
        if not text_field(obj, field):
            missing = "Kind" if field == "kind" else field
            text = f"Object '{missing}' is missing in '{shown}'"
            raise KubectlError(f'error: unable to decode "{name}": {text}')
    about = obj.get("metadata")
    texts = (about or {}) if about.__class__ is dict or about is None else {"name": 0}
    names = (texts.get(one, "") for one in ("name", "generateName", "namespace"))
    if any(one is not None and one.__class__ is not str for one in names):
        text = "json: cannot unmarshal the metadata into Go struct field ObjectMeta"
        raise KubectlError(f'error: unable to decode "{name}": {text}')
    return obj
