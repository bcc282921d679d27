import json
import os

import click
import pytest
from click.testing import CliRunner

from kyvsim.cli.jp import command


@pytest.fixture
def run(tmp_path):
    (tmp_path / "in.yaml").write_text('a: x\nb: [1, 2.5, {c: "<"}, {}]\n')
    (tmp_path / "query").write_text("b[1]")
    (tmp_path / "empty").write_text("")
    (tmp_path / "null").write_text("null")

    def call(*arguments, stdin=""):
        words = [word.replace("DIR", str(tmp_path)) for word in arguments]
        return CliRunner().invoke(command, words, input=stdin, standalone_mode=False)

    return call


def test_query_prints_the_query_and_indented_json(run):
    result = run("query", "-i", "DIR/in.yaml", "b", "a")
    assert result.stdout == (
        '# b\n[\n  1,\n  2.5,\n  {\n    "c": "\\u003c"\n  },\n  {}\n]\n# a\n"x"\n'
    )
    assert result.return_value == 0


def test_query_compact_unquoted_and_from_file(run):
    result = run("query", "-cui", "DIR/in.yaml", "-q", "DIR/query", "a", "b")
    assert result.stdout == '# a\nx\n# b\n[1,2.5,{"c":"\\u003c"},{}]\n# b[1]\n2.5\n'


def test_query_reads_what_is_missing_from_standard_input(run):
    assert run("query", "a", stdin='{"a": 1}').stdout.endswith("# a\n1\n")
    assert run("query", "-i", "DIR/in.yaml", stdin="a").stdout.endswith('# a\n"x"\n')


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("gone", 1, 'error evaluating JMESPath expression: Unknown key "gone" in path\n'),
        ("avg(`[]`)", 1, "error marshalling result to JSON: json: unsupported value: NaN\n"),
        ("a.", 2, "failed to compile JMESPath: a., error: SyntaxError: Expected identifier,"),
    ],
)
def test_query_failure(query, status, message, run):
    result = run("query", "-i", "DIR/in.yaml", query)
    assert result.return_value == status
    assert result.stderr.startswith(f"Error: {message}")


def test_batch_answers_every_line_in_order(run):
    lines = [
        {"expr": "a", "input": {"a": 2}},
        {"expr": "a[", "input": {}},
        {"expr": "z", "input": {}},
        {"input": {}},
    ]
    result = run("query", "--batch", "-", stdin="\n".join(map(json.dumps, lines)) + "\n")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert answers[0] == {"output": 2}
    assert [list(answer) for answer in answers[1:]] == [["error"]] * 3
    assert result.return_value == 0


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("query", "-i", "DIR/empty", "a"), '{"a": 1}', "empty: it must have an input object"),
        (("query", "a"), "# only this\n---\n", "input is empty: it must have an input"),
        (("query", "-i", "-", "a"), "", "input is empty: it must have an input"),
        (("query", "--batch", "-"), " \n", "input is empty: it must have at least"),
        (("query", "--batch", "-", "a"), '{"expr": "a"}', "--batch reads its own queries"),
        (("query", "--batch", "-", "-i", "x"), '{"expr": "a"}', "--batch reads its own queries"),
    ],
)
def test_what_is_empty_or_lost_is_an_error(run, arguments, stdin, message):
    result = run(*arguments, stdin=stdin)
    assert isinstance(result.exception, click.ClickException)
    assert message in str(result.exception)


def test_an_input_that_is_null_is_one(run):
    """It is not asked for again."""
    assert run("query", "-i", "DIR/null", "a").stdout == "# a\nnull\n"


def test_parse_points_at_the_fault(run):
    result = run("parse", "a.b[0")
    assert result.return_value == 2
    assert (
        result.stderr == "Error: SyntaxError: Expected tRbracket, received: tEOF\na.b[0\n     ^\n"
    )


def test_parse_shows_the_tree(run):
    assert run("parse", "a").stdout == '# a\nASTField {\n  value: "a"\n}\n\n'


def test_function_shows_the_named_ones(run):
    out = run("function", "abs", "contains").stdout
    assert out.count("Name: ") == 2
    assert "Name: contains\n  Signature: contains(array|string, any) bool\n  Note:      " in out


def test_a_function_that_is_not_there(run):
    result = run("function", "trunc", "truncate")
    assert result.return_value == 2
    assert result.stdout.startswith("Name: truncate\n")
    assert result.stderr == "error: unknown function `trunc`: did you mean `truncate`?\n"


def test_the_help_is_whole(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in run("--help").stdout.replace("[ARGS]...", "")


def test_a_line_of_a_batch_costs_no_other(run):
    deep = "[" * 5000 + "]" * 5000
    doubled = "'xx'" + " | join('', [@, @])" * 60
    lines = ["nonsense", "[1]", f'{{"expr": "a", "input": {deep}}}', json.dumps({"expr": doubled})]
    lines.append('{"expr": "a", "input": {"a": 2}}')
    answers = [
        json.loads(line)
        for line in run("query", "--batch", "-", stdin="\n".join(lines)).output.splitlines()
    ]
    assert [*map(list, answers)] == [["error"]] * 4 + [["output"]]
    assert "nested more than 200 deep" in answers[2]["error"]
    assert "the budget of 1,000,000 steps for a rule is spent" in answers[3]["error"]
    assert answers[4] == {"output": 2}


def test_what_grows_without_end_is_an_error(run):
    done = run("query", "'xx'" + " | join('', [@, @])" * 60, stdin="{}")
    assert done.return_value == 1
    assert "the budget of 1,000,000 steps" in done.stderr


def test_a_pipe_is_not_waited_for(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = run("query", "a", "-i", "DIR/pipe")
    assert isinstance(found.exception, click.ClickException)
    assert "it is not a file" in str(found.exception)


@pytest.mark.parametrize("options", [(), ("-u",), ("-c",)])
def test_what_a_terminal_would_obey_is_shown(run, options):
    shown = run("query", *options, "@", stdin='"\\u001b[31m\\u009b\\u202e"').output
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
