"""`script` and `command`: interpreted here, on the simulated cluster."""

import re
from collections.abc import Mapping

from kyvsim.chainsaw.environment import STDERR, STDOUT, Result, ShellEnvironment
from kyvsim.chainsaw.errors import FailedError, UnsupportedError
from kyvsim.chainsaw.limits import Usage
from kyvsim.chainsaw.session import Situation, TestOperation, outputs, require, timeout_of
from kyvsim.chainsaw.shell.interpreter import KilledError, Shell, parsed
from kyvsim.chainsaw.shell.parser import AndOr, LiteralPart, Pipeline, Script, Simple
from kyvsim.kubernetes.objects import Json, text_field

_KILLED = -1
"""Stands for the exit status of a program that was killed, which has none."""
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def run_script(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Run a shell script; raise UnsupportedError where it does what is not interpreted."""
    if spec.get("shell") or spec.get("shellArgs"):
        raise UnsupportedError("another shell than sh")
    script = parsed(text_field(spec, "content"))
    return _judged(situation, spec, _in_time(situation, spec, script))


def run_command(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Run one program with arguments; variables in them are filled in."""
    variables = _variables(situation, spec)
    words = [text_field(spec, "entrypoint"), *(spec.get("args") or ())]
    usage = situation.session.usage
    filled = [_filled(str(situation.filled(word)), variables, usage) for word in words]
    command = Simple((), tuple((LiteralPart(word, quoted=True),) for word in filled), ())
    script = (AndOr(Pipeline((command,), negated=False), ()),)
    return _judged(situation, spec, _in_time(situation, spec, script))


def _in_time(situation: Situation, spec: Mapping[str, Json], script: Script) -> Result:
    """Run a script; one that takes longer than it may is killed, and fails."""
    clock = situation.session.sim.clock
    end = clock.elapsed + timeout_of(situation, spec, situation.timeouts.exec)
    if spec.get("workDir"):
        raise UnsupportedError("`workDir`")
    shell = Shell(ShellEnvironment(situation), _variables(situation, spec), end)
    try:
        return shell.run(script)
    except KilledError:
        return Result(_KILLED, tuple(shell.printed))


def _variables(situation: Situation, spec: Mapping[str, Json]) -> dict[str, str]:
    found = {"NAMESPACE": situation.session.namespace}
    for one in spec.get("env") or ():
        found[str(one.get("name"))] = str(situation.filled(one.get("value")))
    return found


def _filled(text: str, variables: Mapping[str, str], usage: Usage) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in variables:
            raise UnsupportedError(f"the variable `${name}`, which the test does not set")
        usage.text(len(variables[name]))
        return variables[name]

    return _VARIABLE.sub(value, text)


def _judged(situation: Situation, spec: Mapping[str, Json], result: Result) -> Mapping[str, Json]:
    """Return the outputs, or raise FailedError: what `check` says, else the exit status."""
    error = f"exit status {result.status}" if result.status else None
    if result.status == _KILLED:
        error = "signal: killed"
    bound = situation.bind("error", error)
    for name, stream in (("stdout", STDOUT), ("stderr", STDERR)):
        read = _mentions(spec.get("check"), f"${name}") or _mentions(
            spec.get("outputs"), f"${name}"
        )
        bound = bound.bind(name, result.text(stream) if read else result.known_text(stream))
    if spec.get("check") is not None:
        require(bound, spec["check"], None)
    elif error is not None:
        output = result.known_text(STDERR).strip() or result.known_text(STDOUT).strip()
        raise FailedError(f"{error}: {output}" if output else error)
    return outputs(bound, spec, None)


def _mentions(value: Json, name: str) -> bool:
    """Return whether some text inside of a value has a name in it."""
    pending = [value]
    for one in pending:
        if one.__class__ is dict:
            pending += [*one, *one.values()]
        elif one.__class__ is list:
            pending += one
        elif one.__class__ is str and name in one:
            return True
    return False


SCRIPT = TestOperation("script", run_script)
COMMAND = TestOperation("command", run_command)
