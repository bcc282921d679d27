import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"(?ms)`(tests/examples/\w+\.py)`:\n\n```python\n(.*?)^```$")


def test_the_listings_of_the_page_are_tests_that_run():
    found = dict(BLOCK.findall((ROOT / "docs/testing.md").read_text(encoding="utf-8")))
    assert len(found) == 2
    for name, listing in found.items():
        assert (ROOT / name).read_text(encoding="utf-8") == listing
