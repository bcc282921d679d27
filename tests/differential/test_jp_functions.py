"""JMESPath functions against the recorded answers of Kyverno 1.19.0 (jp_functions.jsonl)."""

import json

from recorded import recorded

from kyvsim.jmespath import QueryError, System, compile_query
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.ports import Meter

ROWS = recorded("jp_functions.jsonl")


class First:
    """Always takes the first of what there is to choose from."""

    def below(self, _):
        return 0


def answer(row):
    query = compile_query(row["expr"], System(clock=None, entropy=First(), meter=Meter()))
    try:
        return {"output": json.loads(to_json(query.evaluate(with_floats(row["input"]))))}
    except QueryError as error:
        return {"error": True, "message": error.message}


UNSUPPORTED = (
    "x509: extensions that are not supported",
    "x509: policy mappings are not supported",
    "x509: a name that is not plain text is not supported",
)
"""What `cryptography` does not read, or would write in another form, though Go reads it."""
ODD_SALT = ("x509_decode(c).SignatureAlgorithm", 0)
"""Of PSS, `cryptography` does not tell the length of the salt."""


def test_recorded_answers():
    wrong, unsupported = [], 0
    for row in ROWS:
        found = answer(row)
        if found.get("message", "").startswith(UNSUPPORTED):
            unsupported += 1
        elif (row["expr"], row.get("output")) == ODD_SALT:
            assert found == {"output": 13}
        elif any(row.get(key) != found.get(key) for key in ("output", "error", "message")):
            wrong.append((row["expr"], row.get("output", row.get("message")), found))
    assert wrong == []
    assert unsupported == 10


def test_answers_and_errors_are_both_recorded():
    assert len(ROWS) > 300
    assert 50 < sum("error" in row for row in ROWS) < len(ROWS) / 2
