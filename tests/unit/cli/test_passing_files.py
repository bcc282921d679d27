"""Temporary files stand beside their place, whatever that is called."""

from pathlib import Path

import pytest

from kyvsim.cli.output_files import ObjectFiles
from kyvsim.cli.passing_files import passing_file
from kyvsim.cli.report_files import write_reports

LONGEST = [
    "n" * 250,
    "\N{LATIN SMALL LETTER E WITH ACUTE}" * 125,
    "\N{WAXING CRESCENT MOON SYMBOL}" * 62,
]
"""Names that file systems just take, with five bytes behind them: 255 are all."""


@pytest.mark.parametrize("name", ["a", *LONGEST])
def test_a_temporary_file_is_hidden_beside_its_place(tmp_path, name):
    made = {Path(passing_file(str(tmp_path / name))) for _ in range(2)}
    for one in made:
        one.touch(exist_ok=False)
    assert sorted(tmp_path.iterdir()) == sorted(made)
    assert [one.name[0] for one in made] == [".", "."]


@pytest.mark.parametrize("name", LONGEST)
def test_the_longest_name_can_be_written_to(tmp_path, name):
    report, objects = tmp_path / f"{name}.json", tmp_path / f"{name}.yaml"
    write_reports([(str(report), iter("a"))])
    written = ObjectFiles(str(objects), lambda _: False)
    written.commit()
    assert sorted(tmp_path.iterdir()) == [report, objects]
