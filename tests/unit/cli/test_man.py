import shutil
import subprocess

import pytest

from kyvsim.cli.commands import COMMANDS
from kyvsim.cli.main import run


def page(capsys):
    assert run(["man"]) == 0
    return capsys.readouterr().out


def test_every_command_and_its_options_are_in_the_page(capsys):
    text = page(capsys)
    assert text.startswith('.TH KYVSIM 1 "" "kyvsim ')
    assert all(f"\n.SS kyvsim {name} " in text for name in COMMANDS)
    assert ".B \\-\\-fail\\-on" in text
    assert "\n.SS kyvsim cel eval" in text


def test_no_line_of_text_is_an_order_to_roff(capsys):
    known = {".TH", ".SH", ".SS", ".B", ".PP", ".TP", ".nf", ".fi"}
    orders = [line.split()[0] for line in page(capsys).splitlines() if line.startswith(".")]
    assert set(orders) <= known


@pytest.mark.skipif(not shutil.which("groff"), reason="needs groff")
def test_groff_reads_it_without_a_warning(capsys):
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-wall"],
        input=page(capsys),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "kyvsim apply" in done.stdout
