"""What all pages for a browser have in common: one file, one frame, nothing of users that acts."""

import base64
import hashlib
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.page import ending_of, part

ROOT = Path(__file__).parents[3]
PAGES = {
    "apply": "apply/format-html",
    "explain": "explain/menagerie-html",
    "test": "test/holes-html",
    "equal": "equal/html",
    "migrate": "migrate/html",
    "simulate": "simulate/denied-namespace-html",
    "simulate --explain": "simulate/explained-html",
    "simulate --compare": "simulate/compared-html",
}


@pytest.fixture(params=PAGES)
def text(request):
    return (ROOT / "tests/golden" / PAGES[request.param] / "stdout").read_bytes().decode()


class Page(HTMLParser):
    """The tags of a page with their attributes, and what stands in its style and script."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts = [], [], {"style": [], "script": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]].append(data)

    def values(self, name):
        return [attrs[name] for _, attrs in self.tags if name in attrs]


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_is_whole(text):
    page = Page(text)
    assert page.open == []
    assert text.endswith("</html>\n")
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(ids)


def test_its_own_style_and_script_are_all_that_may_act(text):
    page = Page(text)
    (style,), (script,) = page.texts["style"], page.texts["script"]
    (policy,) = (
        attrs["content"]
        for _, attrs in page.tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    names = {name for _, attrs in page.tags for name in attrs}
    assert not [name for name in names if name == "style" or name.startswith("on")]


def test_a_page_asks_nobody(text):
    page = Page(text)
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "form", "base"}
    assert page.values("src") == []
    assert all(link.startswith("#") for link in page.values("href"))
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp|import\(", text)


def test_a_page_says_what_it_is_for_a_reader_of_screens(text):
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert [tags.count(one) for one in ("h1", "main", "header", "footer")] == [1, 1, 1, 1]
    fields = [attrs for tag, attrs in page.tags if tag in {"select", "input"}]
    assert all("aria-label" in attrs or attrs.get("type") == "checkbox" for attrs in fields)


def test_no_character_in_it_controls_or_turns_anything(text):
    odd = {one for one in text if unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp"}}
    assert odd <= {"\n", "\t"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a\" onclick='x'", "a&#34; onclick=&#39;x&#39;"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("bidi-\u202egnp.exe\u2066", "bidi-\\u202egnp.exe\\u2066"),
        ("{{ 7 * 7 }}{% raw %}", "{{ 7 * 7 }}{% raw %}"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
    ],
)
def test_texts_of_users_are_only_texts(given, shown):
    assert part("prose", given) == shown


def test_what_stands_in_backticks_looks_like_code():
    assert part("prose", "a `b` c") == "a <code>b</code> c"
    assert part("prose", "a ` b") == "a ` b"
    assert part("prose", "`<b>`") == "<code>&lt;b&gt;</code>"


@pytest.mark.parametrize(
    ("verdict", "looks"),
    [
        (RunVerdict.PASSED, "good"),
        (RunVerdict.WARNED, "warn"),
        (RunVerdict.NOTHING, "warn"),
        (RunVerdict.FAILED, "bad"),
        (RunVerdict.INCOMPLETE, "bad"),
    ],
)
def test_the_end_of_a_run_has_its_colour(verdict, looks):
    assert ending_of(RunEnding((Fact("x", 1, "x", verdict),))).looks == looks
