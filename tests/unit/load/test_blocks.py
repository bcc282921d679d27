"""Blocks of files."""

import os

import pytest

from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.load import blocks as blocks_module
from kyvsim.load.blocks import (
    Indivisible,
    cut_files,
    kinds_in,
    load_block,
    origins,
    source_of,
)
from kyvsim.load.files import Source
from kyvsim.load.resources import load_resources
from kyvsim.model.diagnostic import Diagnostic

# Blocks of files are read when their turn comes, and only if the files are what they were.

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\n"


def text(count):
    return "---\n".join(POD.replace("NAME", f"p{one}") for one in range(count))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(text(20))
    return path


def blocks(path, size=100, kinds=("Namespace",)):
    return list(cut_files(origins([str(path)], None), size, kinds))


def test_blocks_have_the_resources_of_the_file(file):
    found = [load_block(block, crd_kinds(())) for block in blocks(file)]
    whole, _ = load_resources([str(file)])
    documents = [one for some in found for one in some.resources]
    assert len(found) > 5
    assert [one.data for one in documents] == [one.data for one in whole]
    path = ("metadata", "name")
    assert [one.locate(path) for one in documents] == [one.locate(path) for one in whole]
    assert not any(some.remarks or some.problems for some in found)


def test_what_is_wrong_is_told_of_its_block(file):
    file.write_text(text(9) + "---\na: [\n---\nkind: Pod\n---\n" + text(9))
    found = [load_block(block, crd_kinds(())) for block in blocks(file)]
    said = [one for some in found for one in (*some.remarks, *some.problems)]
    whole = load_resources([str(file)])[1]
    assert [one.code for one in said] == ["KV006", "KV021"]
    assert [*said] == [*whole]
    assert all(isinstance(one, Diagnostic) for one in said)


def test_standard_input_is_a_file_too():
    found = list(cut_files(origins(["-"], text(20).encode()), 100, ("a",)))
    assert "".join(source_of(one).text for one in found) == text(20)
    assert {one.origin.name for one in found} == {"<stdin>"}


@pytest.mark.parametrize("path", [".", "no/such/file", "*.yaml", "\0", Source("a", "b: 1")])
def test_other_inputs_are_not_cut(path):
    assert origins([path], None) is None


@pytest.mark.parametrize(
    ("kind", "mentioned"),
    [
        ("kind: Namespace", True),
        ('"kind": "Namespace"', True),
        ("kind: Namespaced", False),
        ("kind: Pod", False),
    ],
)
def test_a_look_for_kinds(file, kind, mentioned):
    file.write_text("{" + kind + "}\n")
    assert [one.mentions for one in blocks(file)] == [mentioned]


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.write_text(text(21)),
        lambda file: file.write_text(text(19)),
        lambda file: file.unlink(),
        lambda file: file.replace(file.with_name("b")),
    ],
)
def test_a_file_that_has_changed_is_noticed(file, change):
    first = blocks(file)[0]
    change(file)
    with pytest.raises(OSError):  # noqa: PT011 — of any sort
        source_of(first)
    with pytest.raises(Indivisible):
        load_block(first, crd_kinds(()))


@pytest.mark.parametrize("data", [b"a: \xff\n", b"\x1f\x8b\x08", b"PK\x03\x04", b"\xff\xfea\0"])
def test_bytes_that_are_no_text_take_the_whole(file, data):
    file.write_bytes(data)
    with pytest.raises(Indivisible):
        load_block(blocks(file)[0], crd_kinds(()))


def test_a_document_that_is_too_large_is_no_block(file, monkeypatch):
    file.write_text(text(3) + "---\n" + POD.replace("NAME", "x" * 2000))
    monkeypatch.setattr(blocks_module, "LARGEST", 1000)
    with pytest.raises(OSError, match="larger than 512 MiB: split it"):
        blocks(file)


def test_nobody_waits_for_a_pipe_that_has_taken_the_place_of_a_file(file):
    first = blocks(file)[0]
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(OSError, match="has changed"):
        source_of(first)


LISTED = {
    "yaml": "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n"
    "  metadata:\n    ownerReferences:\n    - kind: Job\n- apiVersion: apps/v1\n"
    "  kind: Deployment\n  metadata: {}\nkind: List\n",
    "json": '{\n    "apiVersion": "v1",\n    "items": [\n        {\n'
    '            "apiVersion": "v1",\n'
    '            "kind": "Pod"\n        },\n        {\n            "apiVersion": "apps/v1",\n'
    '            "kind": "Deployment"\n        }\n    ],\n    "kind": "List"\n}\n',
    "documents": "apiVersion: v1\nkind: Pod\nspec:\n  kind: Job\n---\n"
    "kind: 'Deployment'\nmetadata: {}\napiVersion: \"apps/v1\"\n---\n# nothing\n",
}


@pytest.mark.parametrize("form", LISTED)
def test_kinds_are_found_without_parsing(tmp_path, form):
    path = tmp_path / "a.yaml"
    path.write_text(LISTED[form])
    found = [kind for block in blocks(path, 40) for kind in kinds_in(block)]
    assert found == [("v1", "Pod"), ("apps/v1", "Deployment")]
