"""`lint`, `migrate` and `equal` by several processes: the same results as by one."""

import pytest

from kyvsim.api import processes
from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.lint import lint
from kyvsim.api.migrate import migrate, with_counterexamples, with_evidence
from kyvsim.load.files import Source
from kyvsim.model.comparison import SearchBudget

pytestmark = pytest.mark.slow

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p%d}
spec:
  rules:
  - name: named
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: "no %d", pattern: {data: {a: "%d"}}}
"""


@pytest.fixture
def forked(monkeypatch):
    """The numbers of items that runs have shared among processes."""
    found = []
    real = processes.each_in_processes

    def watched(work, items, jobs, **options):
        found.append((len(items), jobs))
        return real(work, items, jobs, **options)

    monkeypatch.setattr(processes, "each_in_processes", watched)
    return found


def test_lint_by_several_processes(forked, tmp_path):
    wrong = POLICY.replace("pattern:", "patern:")
    texts = ((wrong if n % 3 else POLICY) % (n, n, n) for n in range(30))
    (tmp_path / "p.yaml").write_text("---".join(texts))
    alone = lint([str(tmp_path)])
    assert len(alone.diagnostics) >= 20
    assert forked == []
    assert lint([str(tmp_path)], jobs=3) == alone
    assert forked == [(30, 3)]


def test_small_inputs_are_checked_by_one_process(forked, tmp_path):
    (tmp_path / "p.yaml").write_text("---".join(POLICY % (n, n, n) for n in range(4)))
    lint([str(tmp_path)], jobs=0)
    with_counterexamples(migrate([str(tmp_path)]), jobs=0)
    assert forked == []


@pytest.mark.parametrize("jobs", [0, 2, 3])
def test_migrate_by_several_processes(forked, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(processes, "processors", lambda: 2)
    (tmp_path / "p.yaml").write_text("---".join(POLICY % (n, n, n) for n in range(6)))
    migration = migrate([str(tmp_path)])
    alone = with_evidence(migration, (), SearchBudget())
    assert forked == []
    shared = with_evidence(migration, (), SearchBudget(), jobs)
    assert shared.evidence == alone.evidence
    assert with_counterexamples(migration, jobs) == with_counterexamples(migration)
    assert forked == [(6, jobs or 2)] * 2


def test_differences_are_minimised_by_several_processes(forked):
    texts = [POLICY.replace("ConfigMap", kind) for kind in ("ConfigMap", "Secret")]
    old, new = (
        Source(name, "---".join(text % (n, n, value) for n, text in enumerate(texts)))
        for name, value in (("old", 1), ("new", 2))
    )
    inputs = EqualInputs((old,), (new,), ApplyInputs(policies=()))
    alone = compare(inputs)
    assert len(alone.evidence.counterexamples) > 1
    assert forked == []
    assert compare(inputs._replace(jobs=2)).evidence == alone.evidence
    assert forked[0][1] == 2
