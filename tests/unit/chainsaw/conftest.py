"""Chainsaw tests from texts, with files from texts."""

import pytest

from kyvsim.api.kyverno_command import apply_in_cluster
from kyvsim.api.simulate import readers
from kyvsim.chainsaw.expressions import compile_evaluate
from kyvsim.chainsaw.runner import run_test
from kyvsim.chainsaw.session import Situation, TestSession
from kyvsim.jmespath import System
from kyvsim.load.chainsaw import load_test
from kyvsim.load.chainsaw_files import ReachableFiles
from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.model.chainsaw import Timeouts
from kyvsim.model.ports import Meter
from kyvsim.simulator.cluster import open_cluster

HEAD = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: it}\nspec:\n"


@pytest.fixture
def ask():
    """Return what evaluates expressions."""
    return compile_evaluate(System(None, None, Meter()))


@pytest.fixture
def read_test():
    """Return what reads a test from the YAML of its `spec`."""

    def read(spec):
        lines = "".join(f"  {line}\n" for line in spec.strip("\n").split("\n"))
        (document,) = parse_documents(Source("chainsaw-test.yaml", HEAD + lines))
        (test,) = load_test(document)
        return test

    return read


class TextFiles(ReachableFiles):
    """Files that are texts, by their names; all others are looked for in an empty folder."""

    def __init__(self, texts, folder):
        super().__init__(str(folder), str(folder))
        self._texts = texts

    def of_operation(self, name):
        return self.of_script(name)

    def of_script(self, name):
        if name in self._texts:
            return self.parsed(self._texts[name])
        return (), f"{name}: no such file"

    def text(self, name):
        return self._texts[name] if name in self._texts else super().text(name)


@pytest.fixture
def files_of(tmp_path):
    """Return what makes the files of a test from texts."""
    return lambda texts: TextFiles(texts, tmp_path)


@pytest.fixture
def cluster():
    """Return a fresh cluster."""
    return open_cluster(readers())


@pytest.fixture
def run(read_test, cluster, files_of):
    """Return what runs the YAML of a test's `spec`, with the texts of files by name."""

    def go(spec, **files):
        texts = files_of({f"{key}.yaml": text for key, text in files.items()})
        return run_test(read_test(spec), cluster, texts, apply_in_cluster)

    return go


@pytest.fixture
def steps(run):
    """Return what runs the YAML of one step's `try`."""

    def go(operations, **files):
        lines = "".join(f"    {line}\n" for line in operations.strip("\n").split("\n"))
        return run(f"steps:\n- name: one\n  try:\n{lines}", **files)

    return go


@pytest.fixture
def make_situation(read_test, files_of):
    """Return what makes a session in the namespace default, on a cluster of its own."""

    def make():
        test = read_test("namespace: default\nsteps: [{try: [{sleep: {duration: 1s}}]}]")
        session = TestSession(test, open_cluster(readers()), files_of({}), apply_in_cluster)
        return Situation(session, {"namespace": "default"}, Timeouts(), template=True)

    return make


@pytest.fixture
def situation(make_situation):
    """Return what operations stand in: a session in the namespace default."""
    return make_situation()
