"""Scripts, interpreted."""

import pytest

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.shell.run import Shell, parsed
from kyvsim.chainsaw.streams import STDERR, STDOUT
from kyvsim.chainsaw.surroundings import Surroundings

OUTPUTS = [
    ("printf '%s=%d\\n' a 1 b 2", "a=1\nb=2\n"),
    ("printf '100%%\\n'", "100%\n"),
    ("echo 'ab1 b2' | grep -oE 'b[0-9]'", "b1\nb2\n"),
    ("echo a > f; wc -l f", "1 f\n"),
    ("echo a b", "a b\n"),
    ("echo -n a; echo b", "ab\n"),
    ("echo 'a  b'  \"c  d\"", "a  b c  d\n"),
    ('X=1; echo "$X" ${X}2 ${Y:-none}', "1 12 none\n"),
    ("X='a  b'; echo $X; echo \"$X\"", "a b\na  b\n"),
    ('X="a b"; for i in $X c; do echo "<$i>"; done', "<a>\n<b>\n<c>\n"),
    ('echo "$(echo inner)" `echo old`', "inner old\n"),
    ("if true; then echo yes; else echo no; fi", "yes\n"),
    ("if false\nthen\n  echo yes\nelif true\nthen\n echo elif\nfi", "elif\n"),
    ("true && echo a || echo b", "a\n"),
    ("false && echo a || echo b", "b\n"),
    ("! true || echo b", "b\n"),
    ("echo a | grep -q a && echo found", "found\n"),
    ("printf '%s-%s\\n' a b", "a-b\n"),
    ("echo a >&2 2>&1", ""),
    ("{ echo a; echo b >&2; } 2>&1 | wc -l", "2\n"),
    ("echo kept > f; echo more >> f; cat f", "kept\nmore\n"),
    ("echo gone > /dev/null", ""),
    ("cat <<EOF\na $NAMESPACE\nEOF", "a default\n"),
    ("cat <<'EOF'\na $NAMESPACE\nEOF", "a $NAMESPACE\n"),
    ("cat <<EOF | grep b\na\nb\nEOF", "b\n"),
    ('[ "a" = "a" ] && [ 2 -gt 1 ] && [ -n x ] && [ -z "" ] && [ a != b ] && echo all', "all\n"),
    ("if [ ! a = b ]; then echo not; fi", "not\n"),
    ("i=0; while [ $i != done ]; do echo $i; i=done; done", "0\n"),
    ("for i in $(seq 1 5); do if [ $i = 3 ]; then break; fi; echo $i; done", "1\n2\n"),
    ("for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done", "1\n3\n"),
    ("X=1; (X=2; echo $X); echo $X", "2\n1\n"),
    ("false; echo $?", "1\n"),
    ("# only a comment\necho a # rest", "a\n"),
    ("echo a \\\n  b", "a b\n"),
    ('echo "a\\"b\\$c"', 'a"b$c\n'),
    ("printf 'a\\nb\\nc\\n' | head -n 2 | tail -1", "b\n"),
    ("echo abc | tr -d b", "ac\n"),
    ("echo 'x|y' | grep 'x|y'", "x|y\n"),
    ("printf 'a\\nb\\n' | grep -E 'a|b' | wc -l", "2\n"),
    ("printf 'a\\nb\\n' | grep 'a\\|b' | wc -l", "2\n"),
    ("printf 'a\\nb\\n' | grep -v a", "b\n"),
    ("printf 'a\\nb\\n' | grep -c b", "1\n"),
]
STATUSES = [
    ("true", 0),
    ("false", 1),
    ("exit 3; echo not here", 3),
    ("false; true", 0),
    ("set -e; false; true", 1),
    ("set -e; if false; then :; fi; false || true; ! true; echo end", 0),
    ("set -euo pipefail\nfalse | true", 1),
    ("false | true", 0),
    ("true | false", 1),
    ("(exit 4)", 4),
    ("X=$(exit 5)", 5),
    ("echo a | grep -q b", 1),
    ("if echo a | grep -q a; then exit 1; else exit 0; fi", 1),
    ("cat missing", 1),
    ("[ 1 -eq 2 ]", 1),
]
REFUSED = [
    r"echo 'a\nb'",
    "echo -e a",
    "cat -n f",
    "echo a | grep -n a",
    "echo a > f; grep a f f",
    "tr -d '[:space:]'",
    "tr -d a-z",
    "./missing.sh",
    "sh missing.sh",
    "curl http://example.com",
    "echo $HOME",
    "echo $((1 + 1))",
    "sleep 1 &",
    "case x in x) ;; esac",
    "f() { echo a; }; f",
    "#!/usr/bin/env python3\nprint(1)",
    "while true; do :; done",
    "cat /etc/passwd",
    "echo a | awk '{print}'",
    "if true; then echo a",
    "echo 'open",
]


@pytest.fixture
def sh(situation):
    """Return what runs a script."""
    return lambda text: Shell(Surroundings(situation), {"NAMESPACE": "default"}).run(parsed(text))


@pytest.mark.parametrize(("script", "output"), OUTPUTS)
def test_script_prints(script, output, sh):
    assert sh(script).text(STDOUT) == output


@pytest.mark.parametrize(("script", "status"), STATUSES)
def test_script_ends_with(script, status, sh):
    assert sh(script).status == status


@pytest.mark.parametrize("script", REFUSED)
def test_what_is_not_understood_is_not_simulated(script, sh):
    with pytest.raises(UnsupportedError):
        sh(script)


def test_standard_error_is_apart_until_it_is_joined(sh):
    result = sh("cat missing; cat missing 2>&1; cat missing 2>/dev/null")
    told = "cat: missing: No such file or directory\n"
    assert (result.text(STDOUT), result.text(STDERR)) == (told, told)


def test_sleep_takes_virtual_time(sh, situation):
    sh("sleep 2; sleep 1m")
    assert situation.session.parts.clock.elapsed == 62


def test_helper_script_is_interpreted_with_its_arguments(sh, situation):
    situation.session.written["help.sh"] = '#!/bin/bash\nset -e\necho "got $1 of $#"\nexit 2\n'
    result = sh("./help.sh a b || exit 7")
    assert result.status == 127 or (result.text(STDOUT), result.status) == ("got a of 2\n", 7)
