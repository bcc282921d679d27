"""Chainsaw tests from texts, with files that are texts too."""

import pytest

from kyvsim.api.simulation import readers
from kyvsim.chainsaw.expressions import asker
from kyvsim.chainsaw.runner import run_test
from kyvsim.chainsaw.session import Files, Session, Situation
from kyvsim.expr import System
from kyvsim.load.chainsaw import load_test, parse_objects
from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.model.budget import Meter
from kyvsim.model.chainsaw import Timeouts
from kyvsim.sim.cluster import open_cluster

HEAD = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: it}\nspec:\n"


@pytest.fixture
def ask():
    """Return what evaluates expressions."""
    return asker(System(None, None, Meter()))


@pytest.fixture
def read_test():
    """Return what reads a test from the YAML of its `spec`."""

    def read(spec):
        lines = "".join(f"  {line}\n" for line in spec.strip("\n").split("\n"))
        (document,) = parse_documents(Source("chainsaw-test.yaml", HEAD + lines))
        (test,) = load_test(document)
        return test

    return read


def files_of(texts):
    def objects(name):
        return parse_objects(texts[name]) if name in texts else ((), f"{name}: no such file")

    return Files(objects, texts.get, parse_objects)


@pytest.fixture
def cluster():
    """Return a fresh cluster."""
    return open_cluster(readers())


@pytest.fixture
def run(read_test, cluster):
    """Return what runs the YAML of a test's `spec`, with the texts of files by name."""

    def go(spec, **files):
        return run_test(
            read_test(spec), cluster, files_of({f"{key}.yaml": text for key, text in files.items()})
        )

    return go


@pytest.fixture
def steps(run):
    """Return what runs the YAML of one step's `try`."""

    def go(operations, **files):
        lines = "".join(f"    {line}\n" for line in operations.strip("\n").split("\n"))
        return run(f"steps:\n- name: one\n  try:\n{lines}", **files)

    return go


@pytest.fixture
def situation(read_test, cluster):
    """Return what operations stand in: a session in the namespace default."""
    session = Session(
        read_test("namespace: default\nsteps: [{try: [{sleep: {duration: 1s}}]}]"),
        cluster,
        files_of({}),
    )
    return Situation(session, {"namespace": "default"}, Timeouts(), template=True)
