"""The program called in this process, and files for it."""

import pytest

from kyvsim.cli import main


@pytest.fixture
def kyvsim(capfdbinary):
    """A function that runs the program: exit status, standard output, standard error."""

    def run(*arguments):
        status = main.run(list(map(str, arguments)))
        captured = capfdbinary.readouterr()
        return status, captured.out.decode(), captured.err.decode()

    return run


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A function that writes policies and dumps, in the current folder, and returns the command."""
    monkeypatch.chdir(tmp_path)

    def write(policies, **dumps):
        (tmp_path / "policies.yaml").write_text(policies)
        for name, text in dumps.items():
            (tmp_path / f"{name}.yaml").write_bytes(text.encode())
        resources = [one for name in sorted(dumps) for one in ("-r", f"{name}.yaml")]
        return ["apply", "policies.yaml", *resources]

    return write
