"""Functions on strings: splitting, comparing, matching, encodings, hashes, certificates."""

import base64
import hashlib
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kyvsim.jmespath.functions import QueryError, function
from kyvsim.kubernetes import go_text
from kyvsim.kubernetes.go_random_text import Chance, make_random
from kyvsim.kubernetes.go_text import (
    Base64Error,
    JsonError,
    clean_path,
    decode_base64,
    format_float,
)
from kyvsim.kubernetes.quantities import to_int64
from kyvsim.kubernetes.regexes import RegexError, as_bytes, compile_regex, each_match, is_found
from kyvsim.kubernetes.wildcard import matches
from kyvsim.kubernetes.x509 import CertificateError, decode_pem
from kyvsim.model.ports import CHARACTERS, FEW, SHORT, System
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

# Functions on strings: case, splitting, replacing, comparing.
#
# upstream: pkg/engine/jmespath/functions.go; strings are Go strings, mapped character by character.


def lower(text: str) -> str:
    """Return `text` in lower case, mapping each character separately, as Go does."""
    return text.lower() if text.isascii() else "".join(char.lower()[0] for char in text)


def upper(text: str) -> str:
    """Return `text` in upper case; a character whose upper case is several is unchanged."""
    if text.isascii():
        return text.upper()
    cases = ((char.upper(), char.title(), char) for char in text)
    return "".join(next(one for one in shown if len(one) == 1) for shown in cases)


def equal_fold(left: str, right: str) -> bool:
    """Return whether two strings differ only in case."""
    if len(left) != len(right):
        return False
    return left == right or all(
        one == other or _fold(one) == _fold(other) for one, other in zip(left, right, strict=True)
    )


def _fold(char: str) -> str:
    """Return a common form of a character's cases; Go folds one character to one."""
    folded = char.casefold()
    return folded if len(folded) == 1 else char.lower()


def replace(system: System, text: str, old: str, new: str, count: float) -> str:
    """Return `text` with the first `count` occurrences of `old` replaced, all if it is negative."""
    _count(system, text, old, new)
    return text.replace(old, new, max(to_int64(count), -1))


def replace_all(system: System, text: str, old: str, new: str) -> str:
    """Return `text` with every `old` replaced."""
    _count(system, text, old, new)
    return text.replace(old, new)


def _count(system: System, text: str, old: str, new: str) -> None:
    """Count the maximum number of characters that a replacement adds to a string."""
    added = (len(new) - len(old)) * text.count(old)
    if added > SHORT:
        system.meter.spend_text(added)


def _to_boolean(text: str) -> bool:
    word = lower(text)
    if word not in ("true", "false"):
        problem = f"lowercase argument must be 'true' or 'false' (provided: '{text}')"
        raise QueryError(f"JMESPath function 'to_boolean': {problem}")
    return word == "true"


FUNCTIONS = (
    function(
        "compare(string, string) number",
        "-1, 0 or 1 in lexical order; the result is not a float, so `==` with a number is false",
        lambda left, right: (left > right) - (left < right),
        ("compare('a', 'b')", -1),
        ("compare('a', 'a')", 0),
    ),
    function(
        "equal_fold(string, string) boolean",
        "whether two strings are equal, ignoring case",
        equal_fold,
        ("equal_fold('Go', 'GO')", True),
    ),
    function(
        "replace(string, string, string, number) string",
        "replaces the second string with the third, the given number of times (negative: always)",
        replace,
        ("replace('a.b.c', '.', '-', `1`)", "a-b.c"),
        needs_system=True,
    ),
    function(
        "replace_all(string, string, string) string",
        "replaces every occurrence of the second string with the third",
        replace_all,
        ("replace_all('a.b.c', '.', '-')", "a-b-c"),
        needs_system=True,
    ),
    function(
        "to_upper(string) string", "the string in upper case", upper, ("to_upper('abc')", "ABC")
    ),
    function(
        "to_lower(string) string", "the string in lower case", lower, ("to_lower('ABC')", "abc")
    ),
    function(
        "trim(string, string) string",
        "the string without the given characters at both ends",
        str.strip,
        ("trim('--ab-', '-')", "ab"),
    ),
    function(
        "trim_prefix(string, string) string",
        "the string without a prefix",
        str.removeprefix,
        ("trim_prefix('v1.2', 'v')", "1.2"),
    ),
    function(
        "split(string, string) array[string]",
        "the parts of a string between separators",
        lambda text, separator: text.split(separator) if separator else list(text),
        ("split('a,b', ',')", ["a", "b"]),
    ),
    function(
        "truncate(string, number) string",
        "the first characters of a string; the length is a number in backticks",
        lambda text, length: text[: max(to_int64(length), 0)],
        ("truncate('abcdef', `3`)", "abc"),
    ),
    function(
        "to_boolean(string) boolean",
        "true or false from its name, ignoring case; other strings are an error",
        _to_boolean,
        ("to_boolean('True')", True),
    ),
    function(
        "path_canonicalize(string) string",
        "the shortest form of a path: no double slashes, no `.`, `..` resolved",
        clean_path,
        ("path_canonicalize('/a//b/../c/')", "/a/c"),
    ),
)


# Regular expressions (RE2, as in Go) and Kyverno's wildcards.
#
# upstream: pkg/engine/jmespath/functions.go, over Go's regexp package.

_REFERENCE = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))")


def as_text(value: str | float) -> str:
    """Return a string argument; numbers are formatted with the digits of a float32."""
    return value if isinstance(value, str) else format_float(value, "f", bits=32)


def regex_match(pattern: str, source: str | float) -> bool:
    """Return whether the pattern matches anywhere in `source`."""
    return is_found(_compiled(pattern), as_text(source))


def _compiled(pattern: str, where: str = "") -> Any:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise QueryError(f"{where}{error}") from None


def regex_replace_all(
    system: System, pattern: str, source: str | float, replacement: str | float
) -> str:
    """Return `source` with each match replaced; `$1` and `${name}` are groups."""
    parts = _template(as_text(replacement))
    compiled = _compiled(pattern, "JMESPath function 'regex_replace_all': ")

    def expand(match: Any) -> bytes:
        found = []
        for part in parts:
            found.append(part if isinstance(part, bytes) else _group(match, part[0]))
            if len(found[-1]) > SHORT:
                system.meter.spend_text(len(found[-1]))
        return b"".join(found)

    return _replaced(system, compiled, as_text(source), expand)


def regex_replace_all_literal(
    system: System, pattern: str, source: str | float, replacement: str | float
) -> str:
    """Return `source` with each match replaced by the literal text."""
    compiled = _compiled(pattern, "JMESPath function 'regex_replace_all_literal': ")
    text = as_bytes(as_text(replacement))
    return _replaced(system, compiled, as_text(source), lambda _: text)


def _replaced(system: System, compiled: Any, source: str, expand: Callable[[Any], bytes]) -> str:
    data = as_bytes(source)
    pieces: list[bytes] = []
    last = 0
    for match in each_match(compiled, data):
        start, end = match.span()
        pieces += (data[last:start], expand(match))
        last = end
        if len(pieces) > FEW:
            system.meter.spend(1 + len(pieces[-1]) // CHARACTERS)
    pieces.append(data[last:])
    return b"".join(pieces).decode("utf-8", "replace")


@lru_cache(maxsize=128)
def _template(text: str) -> tuple[bytes | tuple[str], ...]:
    """Return literal text and, as one-element tuples, the names of groups."""
    parts: list[bytes | tuple[str]] = []
    last = 0
    for found in _REFERENCE.finditer(text):
        name = found[1] or found[2]
        parts += (as_bytes(text[last : found.start()]), (name,) if name else b"$")
        last = found.end()
    return (*parts, as_bytes(text[last:]))


def _group(match: Any, name: str) -> bytes:
    """Return the match of a group by number or name, empty if there is none."""
    found = None
    if name.isascii() and name.isdigit():
        is_number = name == "0" or name[0] != "0"
        number = int(name) if is_number and len(name) < 9 else -1
        if 0 <= number <= match.re.groups:
            found = match.group(number)
    elif name in match.re.groupindex:
        found = match.group(name)
    return found or b""


REGEXES = (
    function(
        "regex_replace_all(string, string|number, string|number) string",
        "replaces every match with the third string, in which `$1` and `${name}` refer to groups",
        regex_replace_all,
        ("regex_replace_all('a(b+)', 'xabbx', '[$1]')", "x[bb]x"),
        needs_system=True,
    ),
    function(
        "regex_replace_all_literal(string, string|number, string|number) string",
        "replaces every match with the third string, taken literally",
        regex_replace_all_literal,
        ("regex_replace_all_literal('b+', 'abba', '$1')", "a$1a"),
        needs_system=True,
    ),
    function(
        "regex_match(string, string|number) boolean",
        "whether an RE2 expression matches part of a string or number",
        regex_match,
        ("regex_match('^v[0-9]+$', 'v12')", True),
    ),
    function(
        "pattern_match(string, string|number) boolean",
        "whether a pattern matches a whole string or number: `*` any characters, `?` one character",
        lambda pattern, source: matches(pattern, as_text(source)),
        ("pattern_match('nginx:*', 'nginx:1.25')", True),
    ),
)


# Functions that decode and encode strings: base64, JSON, YAML.
#
# upstream: pkg/engine/jmespath/functions.go, over Go's encoding packages.

_LONE = re.compile("[\ud800-\udfff]")


def base64_decode(text: str) -> str:
    """Return the decoded base64 text; each byte that is not UTF-8 becomes U+FFFD."""
    try:
        data = decode_base64(text)
    except Base64Error as error:
        raise QueryError(str(error)) from None
    return _LONE.sub("\ufffd", data.decode("utf-8", "surrogateescape"))


def parse_json(text: str) -> object:
    """Return the data of a JSON text; every number is a float."""
    try:
        return go_text.parse_json(text)
    except JsonError as error:
        raise QueryError(str(error)) from None


def parse_yaml(text: str) -> object:
    """Return the data of the first YAML document; every number is a float."""
    try:
        return load_one(text, floats=True)
    except YamlError as error:
        raise QueryError(error.go_text) from None


ENCODING = (
    function(
        "base64_decode(string) string",
        "decodes base64 in the standard alphabet, with padding",
        base64_decode,
        ("base64_decode('aGk=')", "hi"),
    ),
    function(
        "base64_encode(string) string",
        "encodes a string as base64",
        lambda text: base64.b64encode(as_bytes(text)).decode(),
        ("base64_encode('hi')", "aGk="),
    ),
    function(
        "parse_json(string) any",
        "parses a JSON string",
        parse_json,
        ("""parse_json('{"a": [1]}')""", {"a": [1.0]}),
    ),
    function(
        "parse_yaml(string) any",
        "parses the first document of a YAML string",
        parse_yaml,
        ("parse_yaml('a: yes')", {"a": True}),
    ),
)


# Hashes of strings, in hexadecimal.
#
# upstream: pkg/engine/jmespath/functions.go.


def _digest(algorithm: Callable[..., Any]) -> Callable[[str], str]:
    return lambda text: str(algorithm(as_bytes(text), usedforsecurity=False).hexdigest())


HASHES = (
    function(
        "sha256(string) string",
        "the SHA-256 hash of a string, for example for unique names of limited length",
        _digest(hashlib.sha256),
        ("sha256('a')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
    ),
    function(
        "sha1(string) string",
        "the SHA-1 hash of a string",
        _digest(hashlib.sha1),
        ("sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
    ),
    function(
        "md5(string) string",
        "the MD5 hash of a string",
        _digest(hashlib.md5),
        ("md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
    ),
)


# The function that generates random strings.
#
# upstream: pkg/engine/jmespath/functions.go.


def random(system: System, pattern: str) -> str:
    """Return a random string that matches `pattern`."""
    if not pattern:
        raise QueryError("no pattern provided")
    try:
        return make_random(pattern, Chance(system.entropy.below, system.meter.spend))
    except RegexError as error:
        raise QueryError(str(error)) from None


RANDOMNESS = (
    function(
        "random(string) string",
        "a random string that matches a regular expression without Perl syntax, "
        "such as `[0-9a-z]{8}`",
        random,
        ("random('[a]{5}')", "aaaaa"),
        needs_system=True,
    ),
)


# The function that decodes certificates.
#
# upstream: pkg/engine/jmespath/functions.go (jpX509Decode).


def x509_decode(text: str) -> object:
    """Return the fields of the certificate or request in the first PEM block; its key is RSA."""
    try:
        return decode_pem(text).fields
    except CertificateError as error:
        raise QueryError(str(error)) from None


CERTIFICATES = (
    function(
        "x509_decode(string) object",
        "the fields of a PEM-encoded certificate or signing request; its key must be an RSA key",
        x509_decode,
    ),
)
