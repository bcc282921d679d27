"""Scripts, interpreted."""

from itertools import chain

import pytest

from kyvsim.chainsaw.environment import STDERR, STDOUT, ShellEnvironment
from kyvsim.chainsaw.errors import HardError, ScriptLimits, UnsupportedError, Usage
from kyvsim.chainsaw.shell.interpreter import KilledError, Shell, parsed

OUTPUTS = [
    ("cat << -END\n\ta\n-END\necho b", "\ta\nb\n"),
    ("cat <<-END\n\ta\n\tEND\necho b", "a\nb\n"),
    ("printf -- '%s\\n' a", "a\n"),
    ('for i in "$@"; do echo never; done; echo a "$@"', "a\n"),
    ("if (exit 3); then :; else echo $?; fi", "3\n"),
    ("printf '%s\\n' a \\", "a\n\\\n"),
    ("for i in 1 2; do false; continue; done; echo $?", "0\n"),
    ("X=$(echo a # )\necho b); echo $X", "a b\n"),
    ("tail -n 0 missing && echo none", "none\n"),
    ("continue; echo on", "on\n"),
    ("printf '%s=%d\\n' a 1 b 2", "a=1\nb=2\n"),
    ("printf '100%%\\n'", "100%\n"),
    ("echo 'ab1 b2' | grep -oE 'b[0-9]'", "b1\nb2\n"),
    ("echo a > f; wc -l f", "1 f\n"),
    ("echo a b", "a b\n"),
    ("printf 'N R\\nweb 0\\ndb 3\\n' | awk 'NR==2{print $1}'", "web\n"),
    ("printf 'N R\\nweb 0\\ndb 3\\n' | awk '$2>0'", "N R\ndb 3\n"),
    ("printf 'a b c\\nd e\\n' | awk '{print $2, NF \"!\" $9}'", "b 3!\ne 2!\n"),
    ("printf 'a:b\\nc:\\n' | awk -F: '$2 != \"\" {print $1; }'", "a\n"),
    ("printf 'a 10 x\\nb 9 y\\nc z\\n' | sort --key 2 --numeric", "c z\nb 9 y\na 10 x\n"),
    ("printf 'b\\na\\nb\\n' | sort -ur; printf '9\\n10\\n' | sort -n -k1", "b\na\n9\n10\n"),
    ("mkfifo p; if echo a > p | grep -q a p; then rm p; echo done; fi", "done\n"),
    ("echo $((1 + 2 * 3)) $(( (1 + 2) * 3 )) $((7 / 2)) $((-7 / 2)) $((-7 % 3))", "7 9 3 -3 -1\n"),
    ("X=4; X=$((X+1)); echo $X $(($X * 2)) $((X > 4 && !0)) $((1 == 2 || 0))", "5 10 1 0\n"),
    ("X=a.b.c; echo ${X%.*} ${X%%.*} ${X#*.} ${X##*.} ${X%?} ${X%z}", "a.b a b.c c a.b. a.b.c\n"),
    ('X=\'[a,*]\'; echo "${X#\\[}" "${X%\\*\\]}"', "a,*] [a,\n"),
    ('f() { echo "$1-$#"; return 3; echo never; }; f a b; echo $?', "a-2\n3\n"),
    ("f() { X=in; (return 4); echo $?; }; X=out; f; echo $X", "4\nin\n"),
    ("f()\n{\n echo a\n}\nf | tr -d a; f 2>&1; (f)", "\na\na\n"),
    ("f() { exit 4; }; trap 'echo bye' EXIT INT; echo a; (f); echo $?; f", "a\n4\nbye\n"),
    ("trap 'echo bye' EXIT; trap - EXIT; echo a", "a\n"),
    ("for i in 1 2; do f() { break; }; f; echo $i; done", "1\n2\n"),
    ("kubectl proxy --port=9001 & echo $!; kill $!", "Starting to serve on 127.0.0.1:9001\n4711\n"),
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
OUTPUTS += [
    ("echo a > f; ls=f; cat ./$ls sub/../f", "a\na\n"),
    ("echo b > b.txt; echo a > a.txt; cat *.txt; echo *.md '*.txt'", "a\nb\n*.md *.txt\n"),
    ("echo {.items[0].a}", "{.items[0].a}\n"),
    ("echo a > f; { cat f; echo b; } > f; cat f", "b\n"),
    ("cat < missing || echo no", "no\n"),
    ("echo a > missing/f || echo no", "no\n"),
    ("echo a > /dev/stderr", ""),
    ("{ echo a > /dev/stderr; } 2>&1", "a\n"),
    ("printf '%s %d\\\\n' a", "a 0\\n"),
    ("seq 3 -1 1; seq 2 2 5; seq 2 1", "3\n2\n1\n2\n4\n"),
    ("for a in 1 2; do for b in 1 2; do echo $a$b; break 2; done; done", "11\n"),
    ("for a in 1 2; do for b in 1 2; do echo $a$b; continue 99; done; done", "11\n21\n"),
    ("for a in 1 2; do (break); echo $a; done", "1\n2\n"),
    ("for a in 1 2; do break | true; echo $a; done", "1\n2\n"),
    ("break; echo on", "on\n"),
    ("set -o errexit; set +o errexit; false; echo on", "on\n"),
    ("printf 'a\\nb\\n' > f; head -n1 f; tail -n 1 f; wc -l < f", "a\nb\n2\n"),
    ("x='a\u2028b'; echo $x", "a\u2028b\n"),
    ("rm missing 2>/dev/null || rm -f missing && echo gone", "gone\n"),
    ("echo 'echo \"$1\" \"$#\"' > s; sh s 'a  b' c", "a  b 2\n"),
    ("X=1; export Y=2; echo 'echo ${X:-no} $Y' > s; sh s", "no 2\n"),
    ('echo \'[ "$*" = "a b" ] && printf "<%s>" "$@"\' > s; sh s a b', "<a><b>"),
]
STATUSES = [
    ("trap 'exit 5' EXIT; exit 3", 5),
    ("trap 'false' EXIT; exit 3", 3),
    ("f() { false; }; set -e; f || exit 2", 2),
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
WRONG = [
    ("seq", 1, "seq: missing operand"),
    ("seq abc", 1, "seq: invalid floating point argument: 'abc'"),
    ("seq ''", 1, "seq: invalid floating point argument: ''"),
    ("seq \u0663", 1, "seq: invalid floating point argument: '\u0663'"),
    ("seq 1_0", 1, "seq: invalid floating point argument: '1_0'"),
    ("seq 1 0 5", 1, "seq: invalid Zero increment value: '0'"),
    ("seq 1 2 3 4", 1, "seq: extra operand '4'"),
    ("exit abc; echo on", 2, "sh: exit: Illegal number: abc"),
    ("exit 1_0", 2, "sh: exit: Illegal number: 1_0"),
    ("break abc; echo on", 2, "sh: break: Illegal number: abc"),
    ("for a in 1; do break 0; done; echo on", 2, "sh: break: Illegal number: 0"),
    ("shift 9; echo on", 2, "sh: shift: can't shift that many"),
    ("shift x", 2, "sh: shift: Illegal number: x"),
    ("export 1a=2", 2, "sh: export: 1a: bad variable name"),
    ("unset a=b", 2, "sh: unset: a=b: bad variable name"),
    ("echo a | head -n abc", 1, "head: invalid number of lines: 'abc'"),
    ("echo a | head -n", 1, "head: option requires an argument -- 'n'"),
    (f"echo a | head -n {'9' * 5000}", 1, "Value too large for defined data type"),
    (f"echo a | tail -n {'9' * 30}", 1, "Value too large for defined data type"),
    ("tail missing", 1, "tail: cannot open 'missing' for reading: No such file or directory"),
    ("wc -l missing", 1, "wc: missing: No such file or directory"),
    ("sleep", 1, "sleep: missing operand"),
    ("sleep x", 1, "sleep: invalid time interval 'x'"),
    ("printf %d x", 1, "printf: x: expected numeric value"),
    ("printf", 2, "printf: usage"),
    ("test 1 -eq x", 2, "sh: test: Illegal number: x"),
    (f"[ 1 -lt {'9' * 5000} ]", 2, "Illegal number: 999"),
    ("[ 1 -eq 1", 2, "sh: [: missing ]"),
    ("tr", 1, "tr: missing operand"),
    ("rm", 1, "rm: missing operand"),
    ("rm missing", 1, "rm: cannot remove 'missing': No such file or directory"),
    ("grep", 2, "Usage: grep"),
    ("grep a missing", 2, "grep: missing: No such file or directory"),
    ("echo a | grep '['", 2, "grep: Unmatched ["),
    ("cat < missing", 2, "sh: cannot open missing: No such file"),
    ("echo a > missing/f", 2, "sh: cannot create missing/f: Directory nonexistent"),
    ("echo a > .", 2, "sh: cannot create .: Is a directory"),
    ('echo a > ""', 2, "sh: cannot create : Directory nonexistent"),
]
EXHAUSTING = [
    ("f() { f; }; f", "32 levels of nesting"),
    ("f() { f | f; }; f", "32 levels of nesting"),
    ("while :; do :; done", "5,000 steps"),
    ("until false; do :; done", "5,000 steps"),
    ("for a in $(seq 999); do for b in $(seq 999); do :; done; done", "5,000 steps"),
    ("seq 300000000 | wc -l", "5,000 steps"),
    (f"seq {'9' * 40}", "5,000 steps"),
    ("echo 'sh f; sh f' > f; sh f", "32 levels of nesting"),
    ("echo " + "$(echo " * 40 + ")" * 40, "32 levels of nesting"),
    ("(" * 40 + ":" + ")" * 40, "32 levels of nesting"),
    ("if :; then " * 40 + ":" + "; fi" * 40, "32 levels of nesting"),
    ("a=aaaaaaaa; while :; do a=$a$a; done", "100,000 characters"),
    ('a=aaaaaaaa; while :; do a="$a$a"; done', "100,000 characters"),
    ("a=aaaaaaaa; for i in $(seq 40); do a=$(echo $a$a); done", "100,000 characters"),
    ("echo aaaaaaaa > f; while :; do cat f f > g; cat g g > f; done", "100,000 characters"),
    ("echo aaaaaaaa > f; while :; do cat f >> f; done", "100,000 characters"),
    ("a=$(seq 999); while :; do cat <<E\n$a\nE\ndone", "100,000 characters"),
    ("for i in $(seq 99); do : > f$i; done", "50 files"),
    ("while :; do kubectl get configmaps; done", "5,000 steps"),
]
REFUSED = [
    "cat ../f",
    "cat < /proc/self/environ",
    "echo a > ../f",
    "echo a > /etc/f",
    "cat ~/f",
    "cat /tmp/what-no-script-has-written",
    "sh ../f",
    "../f",
    "cat <(echo a)",
    "kubectl apply -f ../f.yaml",
    "kubectl create cm a; kubectl patch cm a --patch-file /etc/passwd",
    "cat ../*",
    "cd ..",
    "echo {a,b}",
    "echo {1..9}",
    "echo ${a//x/y}",
    "printf %1000000000s a",
    "seq 1 0.5 2",
    "head -c 99 f",
    "echo a | grep -P a",
    "echo a | grep -m1 a",
    "echo a | grep '\\d'",
    "set -o pipefile",
    "yes",
    "for 1 in a; do :; done",
    "rm -x f",
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
    *("echo $((X))", "echo $((1 +))", "echo $((010))", "echo $((x = 1))", "echo $((1 / 0))"),
    *(f"echo $(({'9' * 30}))", f"echo $(({'(' * 99}1{')' * 99}))", "echo $((2 ** 3))"),
    *("X=a; echo ${X%[a]}", "X=a; echo ${X%$X}", "X=a; echo ${X:0:1}", "X=a; echo ${X/a/b}"),
    *("sleep 1 &", "kubectl proxy & kubectl proxy; kill 1", "kubectl proxy > f &", "kill 4711"),
    *("return", "trap 'echo a' DEBUG", "trap", "function f { echo a; }; f"),
    "case x in x) ;; esac",
    "#!/usr/bin/env python3\nprint(1)",
    "cat /etc/passwd",
    *("echo a | awk 'BEGIN {print}'", "echo a | awk '/a/'", "echo a | awk -F '' '{print}'"),
    *("echo a | sort -k x", "echo a | sort -t : -k 1", "echo a | sort -z", "mkfifo -m 1 p"),
    "if true; then echo a",
    "echo 'open",
]


@pytest.fixture
def sh(situation):
    """Return what runs a script."""
    return lambda text: Shell(ShellEnvironment(situation.session), {"NAMESPACE": "default"}).run(
        parsed(text)
    )


@pytest.mark.parametrize(
    "script",
    [
        *("if true; then fi", "while true; do done", "( )", "{ }", "; echo a", "echo a; ; echo b"),
        *(
            "true || do",
            "! ! true",
            "{ echo a; } echo b",
            "echo a\n; echo b",
            "done",
            "if ; then :; fi",
        ),
        *("echo $-", "export", "set", "echo x 3> f", "cat <<< a", "echo ${U:-'a b'}"),
        *('echo "${U:-"x"}"', "[ a == a ]", "echo $(echo a # )", "printf -v x a", "test a == b"),
        "set -x; { true; } 2>&1 | cat",
    ],
)
def test_what_shells_refuse_or_read_differently_is_unsupported(script, sh):
    with pytest.raises(UnsupportedError):
        sh(script)


RUN = "kubectl run p --image=nginx >/dev/null; "


@pytest.mark.parametrize(
    "text",
    [
        "kubectl exec p -- date | grep 2026",
        'X=$(kubectl exec p -- ls); [ -z "$X" ]',
        "kubectl exec p -- id > f",
        "{ kubectl exec p -- ls; } 2>&1 | wc -l",
        "kubectl exec p -- ls -l",
        "if kubectl exec p -- curl http://web; then exit 1; fi",
        "! kubectl exec p -- false",
        "kubectl exec p -- sh -c 'exit 1' || true",
    ],
)
def test_nothing_comes_of_what_a_container_would_print_or_decide(sh, text):
    with pytest.raises(UnsupportedError, match="containers are not simulated"):
        sh(f"{RUN}{text}")


def test_a_command_that_cannot_fail_in_a_container_succeeds(sh):
    result = sh(f"{RUN}kubectl exec p -- ls > /dev/null; kubectl exec p -- true && exit 4")
    assert result.status == 4


@pytest.mark.parametrize(("script", "output"), OUTPUTS)
def test_script_prints(script, output, sh):
    assert sh(script).text(STDOUT) == output


@pytest.mark.parametrize(("script", "status"), STATUSES)
def test_script_ends_with(script, status, sh):
    assert sh(script).status == status


@pytest.mark.parametrize(("script", "status", "told"), WRONG)
def test_wrong_arguments_fail_with_a_message(script, status, told, sh):
    result = sh(script)
    assert result.status == status
    assert told in result.text(STDERR)


@pytest.mark.parametrize(("script", "limit"), EXHAUSTING)
def test_scripts_end_at_their_limits(script, limit, sh, situation):
    situation.session.usage = Usage(ScriptLimits(5_000, 100_000, 50))
    with pytest.raises(HardError, match=f"^the limit of {limit} for the scripts of a test"):
        sh(script)
    assert sum(map(len, chain(*situation.session.written.values()))) <= 100_000


def test_the_scripts_of_a_test_share_one_budget(sh, situation):
    situation.session.usage = Usage(ScriptLimits(steps=5_000))
    for _ in range(2):
        sh("for i in $(seq 300); do :; done")
    with pytest.raises(HardError, match="steps"):
        sh("for i in $(seq 999); do :; done")


def test_back_references_end_the_script(sh):
    with pytest.raises(HardError, match="without back references"):
        sh("if echo aa | grep '\\(a\\)\\1'; then exit 1; fi")


def test_links_inside_the_folder_lead_nowhere_else(sh, tmp_path):
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("..")
    for script in ("cat link", "grep root link", "cat up/f", "echo a > link", "sh link", "cat *"):
        with pytest.raises(UnsupportedError, match=r"outside (of )?the test's folder"):
            sh(script)


def test_files_of_the_folder_are_read_and_never_written(sh, tmp_path):
    (tmp_path / "f").write_text("old\n")
    assert sh("cat f; echo new >> f; cat ./f").text(STDOUT) == "old\nold\nnew\n"
    assert (tmp_path / "f").read_text() == "old\n"


def test_bash_has_more_syntax_than_sh(sh):
    script = "function f { X='a/b/b'; echo ${X//b/c} ${X/\\/b/}; }; f"
    written = f"cat > s << 'END'\n#!/usr/bin/env bash\n{script}\nEND\n"
    for command in ("./s", "bash s"):
        assert sh(f"{written}{command}").text(STDOUT) == "a/c/c a/b\n"
    with pytest.raises(UnsupportedError):
        sh(f"{written}sh s")


def test_a_first_line_sets_options_where_a_script_is_run_directly(sh):
    written = "echo '#!/bin/sh -e' > s; echo 'false' >> s; echo 'echo on' >> s; "
    assert sh(f"{written} ./s").text(STDOUT) == ""
    assert sh(f"{written} sh s").text(STDOUT) == "on\n"


@pytest.mark.parametrize(
    "script", ["sleep 99999d", "while :; do kubectl get cm; done", "(sleep 9)"]
)
def test_a_script_is_killed_at_its_end(situation, script):
    shell = Shell(ShellEnvironment(situation.session), {}, end=5.0)
    with pytest.raises(KilledError):
        shell.run(parsed(f"echo a; {script}; echo b"))
    texts = [one.text for one in shell.printed]
    assert texts[0] == "a\n"
    assert "b\n" not in texts
    assert situation.session.sim.clock.elapsed < 10


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
    assert situation.session.sim.clock.elapsed == 62


def test_helper_script_is_interpreted_with_its_arguments(sh, situation):
    text = '#!/bin/bash\nset -e\necho "got $1 of $#"\nexit 2\n'
    ShellEnvironment(situation.session).write("help.sh", text, append=False)
    result = sh("./help.sh a b || exit 7")
    assert (result.text(STDOUT), result.status) == ("got a of 2\n", 7)
