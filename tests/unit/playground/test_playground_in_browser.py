"""The page in a headless Chromium: somebody types, and reads the answers."""

import time
from pathlib import Path

import pytest
from browser import AXE, MISSING, NARROW, NO_AXE, PROGRAM, WIDE, Browser

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PROGRAM, reason=MISSING)]
CONTROL = 2
"""The modifier of a pressed key."""
EXAMPLES = Path(__file__).parents[3] / "kyvsim/playground/examples"


class Desk(Browser):
    """The page, with what people do on it."""

    def until(self, condition, what="answer"):
        for _ in range(600):
            if self.value(condition):
                return
            time.sleep(0.05)
        raise AssertionError(f"no {what}: {condition}; {self.text[:500]}; {self.complaints}")

    def settle(self, before=0):
        """Wait for one more answer than there were."""
        self.until(
            f"Number(answer.dataset.count || 0) > {before} && !answer.matches('.old')"
            " && !state.textContent"
        )

    @property
    def count(self):
        return self.value("Number(answer.dataset.count || 0)")

    @property
    def text(self):
        return self.value("answer.textContent.replace(/\\s+/g, ' ')")

    def type(self, editor, text):
        """Put the cursor where a text ends, type, and wait for the answer."""
        before = self.count
        self.value(
            f"(() => {{ const {{ view }} = texts.get('{editor}');"
            f" folder('{editor}').open = true; view.focus();"
            " view.dispatch({ selection: { anchor: view.state.doc.length } }); })()"
        )
        for line, part in enumerate(text.split("\n")):
            if line:
                self.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
                self.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter")
            if part:
                self.ask("Input.insertText", text=part)
        self.settle(before)

    def strike(self, key, code):
        """Press a key that the editor knows by its code."""
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def clear(self, editor):
        before = self.count
        self.value(f"texts.get('{editor}').text = ''; later()")
        self.settle(before)

    def pick(self, title):
        before = self.count
        self.value(
            f"(() => {{ const one = document.getElementById('examples'); one.value = {title!r};"
            " one.dispatchEvent(new Event('change')); })()"
        )
        self.settle(before)

    def view(self, name):
        before = self.count
        self.value(f"document.getElementById('tab-{name}').click()")
        self.settle(before)


@pytest.fixture(scope="module")
def desk(served):
    one = Desk()
    one.url = served.url
    yield one
    one.close()


@pytest.fixture
def page(desk):
    desk.open(desk.url)
    desk.settle()
    return desk


def test_a_policy_is_typed_and_judges(page):
    page.clear("policies")
    assert "NOTHING CHECKED" in page.text
    # A line begins where the one before did, so only what changes is typed.
    page.type(
        "policies", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: named\n"
    )
    page.value("texts.get('policies').text = texts.get('policies').text.trimEnd() + '\\n'")
    page.type(
        "policies",
        "spec: {rules: [{name: cart, match: {any: [{resources: {kinds: [Pod]}}]}, "
        "validate: {message: called otherwise, pattern: {metadata: {name: cart}}}}]}",
    )
    assert "FAILED: 1 of 2 results failed" in page.text
    assert "called otherwise" in page.text
    assert page.shown(".item.bad[data-item]") == ["fail"]
    assert page.complaints == []


def lines_of(page, editor):
    """Return the lines of an editor that are drawn, with their numbers."""
    root = f"document.getElementById('{editor}').shadowRoot"
    return page.value(
        f"[...{root}.querySelectorAll('.cm-line')].map((one) => one.textContent)"
    ), page.value(
        f"[...{root}.querySelectorAll('.cm-lineNumbers .cm-gutterElement')].slice(1)"
        ".map((one) => one.textContent)"
    )


def test_a_new_line_begins_where_the_last_one_did(page):
    page.clear("values")
    page.type("values", "a:\n  b: 1\nc: 2")
    assert page.value("texts.get('values').text") == "a:\n  b: 1\n  c: 2"
    assert lines_of(page, "values") == (["a:", "  b: 1", "  c: 2"], ["1", "2", "3"])


def marks_of(page, editor):
    root = f"document.getElementById('{editor}').shadowRoot"
    marked = f"{root}.querySelectorAll('.cm-gutter-lint [class*=cm-lint-marker-]')"
    return page.value(f"[...{marked}].map((one) => one.className.split('-').pop())")


def test_diagnostics_and_failures_are_marks_in_the_gutter(page):
    assert marks_of(page, "policies") == []
    assert marks_of(page, "resources") == ["error"]
    page.pick("mistakes that Kyverno accepts")
    assert "warning" in marks_of(page, "policies")
    page.value("texts.get('policies').view.focus()")
    page.strike("F8", 119)
    root = "document.getElementById('policies').shadowRoot"
    page.until(f"{root}.querySelector('.cm-diagnostic') !== null", "tooltip")
    assert "KV" in page.value(f"{root}.querySelector('.cm-diagnostic').textContent")


def test_fields_are_completed_as_in_other_editors(page):
    page.value("texts.get('policies').text = texts.get('policies').text.trimEnd() + '\\n'")
    page.type("policies", "sta")
    root = "document.getElementById('policies').shadowRoot"
    page.until(f"{root}.querySelector('.cm-completionLabel')?.textContent === 'status'", "offer")
    before = page.count
    time.sleep(0.1)  # a completion is accepted when it has been seen for a moment
    page.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
    page.settle(before)
    assert page.value("texts.get('policies').text").endswith("\nstatus:")


@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
def test_axe_accepts_a_list_of_completions_that_scrolls(page):
    page.clear("policies")
    page.type("policies", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec:\n  ")
    page.value("texts.get('policies').view.focus()")
    page.ask("Input.dispatchKeyEvent", type="keyDown", key=" ", code="Space", modifiers=CONTROL)
    opened = "document.getElementById('policies').shadowRoot.querySelector('[role=listbox]')"
    page.until(f"{opened}?.scrollHeight > {opened}?.clientHeight", "long list")
    assert page.violations() == []
    page.strike("ArrowDown", 40)
    assert page.violations() == []


def test_tab_indents_and_leaves_an_editor_after_escape(page):
    page.type("policies", "\n# a")
    before = page.count
    page.strike("Tab", 9)
    page.settle(before)
    assert page.here == "policies"
    assert page.value("texts.get('policies').text").endswith("\n  # a")
    page.strike("Escape", 27)
    page.strike("Tab", 9)
    assert (
        page.value("document.activeElement.getAttribute('aria-label')") == "open files as policies"
    )


def test_the_user_and_the_operation_are_those_of_the_request(page):
    page.pick("who may delete")
    assert "jane may not delete orders" in page.text
    before = page.count
    page.value("document.getElementById('groups').value = 'shop, operators'; later()")
    page.settle(before)
    assert "may not delete" not in page.text
    link = page.value("location.href")
    page.open(link)
    page.settle()
    assert page.value("typed().groups") == "shop, operators"
    assert page.value("typed().operation") == "DELETE"


def test_files_are_opened_and_saved(page, tmp_path):
    paths = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for path in paths:
        path.write_text(f"kind: {path.stem}\n", encoding="utf-8")
    document = page.ask("DOM.getDocument")["root"]["nodeId"]
    selector = "[data-editor=exceptions] input[type=file]"
    node = page.ask("DOM.querySelector", nodeId=document, selector=selector)["nodeId"]
    before = page.count
    page.ask("DOM.setFileInputFiles", files=[str(one) for one in paths], nodeId=node)
    page.settle(before)
    assert page.value("texts.get('exceptions').text") == "kind: a\n---\nkind: b\n"
    page.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    page.value("document.querySelector('[data-editor=exceptions] .save').click()")
    saved = tmp_path / "exceptions.yaml"
    while not saved.exists():
        time.sleep(0.05)
    assert saved.read_text("utf-8") == "kind: a\n---\nkind: b\n"


def test_mutations_are_shown_as_differences_and_generated_objects_whole(page):
    page.pick("a policy that changes objects")
    added = page.value("[...answer.querySelectorAll('.add')].map((one) => one.textContent.trim())")
    assert "+     team: shop" in added
    assert page.value("answer.querySelector('.item.info details').open")
    page.pick("a policy that generates objects")
    assert "kind: NetworkPolicy" in page.value("answer.querySelector('.item.info pre').textContent")


def test_all_views_show_the_same_texts(page):
    page.view("reasons")
    assert "expected" in page.text
    page.view("timeline")
    assert page.value("answer.querySelectorAll('.event').length") > 3
    heads = page.value(
        "[...answer.querySelectorAll('.head')].map((one) => one.getBoundingClientRect().left)"
    )
    assert heads == sorted(heads)
    assert len(set(heads)) == len(heads)
    page.pick("a policy that generates objects")
    page.value("answer.querySelector('.by a').click()")
    assert page.value("document.activeElement.matches('.event')")
    assert page.value("location.hash.length") > 100


def test_a_link_holds_everything(page):
    page.pick("a policy in CEL, with an exception")
    page.view("timeline")
    link = page.value("location.href")
    typed = page.value("JSON.stringify(typed())")
    page.open(link)
    page.settle()
    assert page.value("JSON.stringify(typed())") == typed
    assert page.value("view") == "timeline"
    assert "exceptions.yaml" in page.text


def test_a_link_that_is_cut_is_told(page):
    link = page.value("packed()", wait=True)
    page.open(f"{page.url}#{link[: len(link) // 2]}")
    page.until("answer.textContent.includes('the link cannot be read')")
    bomb = page.value(
        "(async () => { const stream = new Blob(['x'.repeat(1 << 24)]).stream()"
        ".pipeThrough(new CompressionStream('deflate-raw'));"
        " const small = new Uint8Array(await new Response(stream).arrayBuffer());"
        " let text = ''; for (const one of small) text += String.fromCharCode(one);"
        " return btoa(text).replaceAll('+', '-').replaceAll('/', '_'); })()",
        wait=True,
    )
    page.open(f"{page.url}#{bomb}")
    page.until("answer.textContent.includes('the link cannot be read')")


def test_a_syntax_error_marks_its_editor_and_leads_to_its_place(page):
    page.clear("policies")
    page.type("policies", "kind: [x\nspec: {}")
    page.until("document.querySelector('.editor.bad')?.dataset.editor === 'policies'")
    assert page.text.count("policies.yaml:2:7") >= 1  # the second line is indented
    page.value("answer.querySelector('.list .place.goes').focus()")
    page.press("Enter")
    assert page.here == "policies"
    assert page.value("texts.get('policies').view.state.selection.main.from") == 15
    assert "error" in marks_of(page, "policies")


def test_what_is_opened_stays_open_while_somebody_types(page):
    page.value("answer.querySelector('.item.bad summary').click()")
    page.type("resources", "\n# one more")
    assert page.value("answer.querySelector('.item.bad details').open")


def test_keys_reach_all(page):
    page.value("document.getElementById('tab-verdicts').focus()")
    before = page.count
    page.press("ArrowRight")
    page.settle(before)
    assert page.here == "tab-reasons"
    assert page.value("document.querySelectorAll('[role=tab][tabindex=\"0\"]').length") == 1


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_and_asks_nobody_else(page, width, theme):
    page.ask(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": theme}],
    )
    page.open(page.url, width)
    page.settle()
    for name in ("reasons", "timeline"):
        page.view(name)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert not AXE.exists() or page.violations() == []
    assert {one.rpartition("/")[0] + "/" for one in page.requests} == {page.url}
    assert page.complaints == []
    dark = page.value("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 29)"
    assert dark is (theme == "dark")


def test_no_text_of_a_user_acts(page):
    attack = "<img src=x onerror='window.owned=1'>"
    page.clear("policies")
    page.type(
        "policies",
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: odd}, spec: {rules: "
        "[{name: odd, match: {any: [{resources: {kinds: [Pod]}}]}, validate: "
        f'{{message: "{attack}", pattern: {{metadata: {{name: "{attack}"}}}}}}}}]}}}}',
    )
    for name in ("reasons", "timeline", "verdicts"):
        page.view(name)
        assert "<img src=x" in page.text
        assert page.value("window.owned") is None
        assert page.value("answer.querySelectorAll('img, script').length") == 0


def test_the_end_of_the_server_is_told(page, served):
    served.end()
    page.value("later()")
    page.until("answer.textContent.includes('is `kyvsim playground` still running?')")
