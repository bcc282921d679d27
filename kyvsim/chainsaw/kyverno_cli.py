"""The program `kyverno` in scripts: arguments, and the files that they name.

`kyverno apply` is evaluated by `kyvsim apply` itself, on files of the test and objects of the
simulated cluster. Source of the options: upstream cmd/cli/kubectl-kyverno/commands/apply.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.chainsaw.environment import (
    STDERR,
    STDOUT,
    Printed,
    Result,
    ShellEnvironment,
    error_output,
    out,
)
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Flags, ProgramArguments, read_arguments
from kyvsim.model.chainsaw import ApplyCall, ScriptFile

_FLAGS = Flags(
    "kyverno",
    bare=frozenset({"audit-warn", "cluster", "remove-color"}),
    valued=frozenset(
        {"context-file", "crd-path", "crd-paths", "exception", "exceptions", "namespace"}
        | {"parameter-resource", "resource", "resources", "target-resource", "target-resources"}
        | {"userinfo", "values-file", "warn-exit-code"}
    ),
    short=MappingProxyType(
        {"c": "cluster", "e": "exception", "f": "values-file", "n": "namespace", "r": "resource"}
        | {"u": "userinfo"}
    ),
)
_INPUTS: Mapping[str, tuple[str, ...]] = {
    "resources": ("resource", "resources"),
    "targets": ("target-resource", "target-resources"),
    "exceptions": ("exception", "exceptions"),
    "parameters": ("parameter-resource",),
    "crd_paths": ("crd-path", "crd-paths"),
    "values_file": ("values-file",),
    "userinfo": ("userinfo",),
    "context_file": ("context-file",),
}
"""The options with files, by field."""


def kyverno(arguments: tuple[str, ...], stdin: str, environment: ShellEnvironment) -> Result:
    """Run the program; raise UnsupportedError for a command or an option that is not simulated."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", ())
    session = environment.session
    if name == "version" and not rest:
        return out(f"Version: {session.sim.settings.release.name}\n")
    if name != "apply":
        raise UnsupportedError(f"`kyverno {name}` in a script")
    given = read_arguments(rest, _FLAGS)
    if not given.words:
        return error_output("Error: requires at least one policy\n")
    status, text, problems = session.apply_policies(
        _apply_call(given, stdin, environment), session.cluster
    )
    printed = (Printed(STDOUT, text), Printed(STDERR, problems))
    return Result(status, tuple(one for one in printed if one.text))


def _apply_call(given: ProgramArguments, stdin: str, environment: ShellEnvironment) -> ApplyCall:
    def files(names: tuple[str, ...] | list[str]) -> tuple[ScriptFile, ...]:
        return tuple(one for name in names for one in _files(name, stdin, environment))

    warn_status = given.value("warn-exit-code", "0")
    if not (warn_status.isascii() and warn_status.isdigit()) or int(warn_status) > 255:
        raise UnsupportedError(f"`kyverno apply --warn-exit-code {warn_status}`")
    return ApplyCall(
        files(given.words),
        {
            field: files([one for flag in flags for one in given.values(flag)])
            for field, flags in _INPUTS.items()
        },
        reads_cluster=given.is_set("cluster"),
        namespace=given.value("namespace"),
        audit_warn=given.is_set("audit-warn"),
        warn_status=int(warn_status),
    )


def _files(name: str, stdin: str, environment: ShellEnvironment) -> Iterator[ScriptFile]:
    """Yield a file, or the manifests in a folder."""
    names = [name]
    if environment.is_folder(name):
        folder = name.rstrip("/")
        names = [
            one for end in ("yaml", "yml") for one in environment.matching(f"{folder}/*.{end}")
        ]
    for one in names:
        text = environment.read(one, stdin)
        if text is None:
            raise UnsupportedError(f"`kyverno apply` with `{one}`, which does not exist")
        yield one, text
