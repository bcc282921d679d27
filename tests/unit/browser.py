"""A headless Chromium, where there is one.

It is spoken to over its pipe in its own protocol: JSON that ends with a null byte.
https://chromedevtools.github.io/devtools-protocol/
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
ROOT = Path(__file__).parents[2]
AXE = ROOT / "editors/playground/node_modules/axe-core/axe.min.js"
NO_AXE = "axe-core is not installed: npm ci in editors/playground"
MISSING = f"none of {', '.join(NAMES)} is installed"
WIDE, NARROW = 1400, 390


def golden_page(case):
    """Return the page of a case; that of coverage is on standard error, before other texts."""
    stream = "stderr" if "coverage" in case else "stdout"
    text = (ROOT / "tests/golden" / case / stream).read_bytes().decode()
    return text.partition("</html>\n")[0] + "</html>\n"


class Browser:
    """One window. What pages ask for and complain of is kept."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()

        def place_pipes():
            ours = [os.dup(one) for one in (read_there, write_there)]
            os.dup2(ours[0], 3)
            os.dup2(ours[1], 4)

        switches = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
        self._process = subprocess.Popen(
            [
                PROGRAM,
                *switches,
                "--remote-debugging-pipe",
                f"--user-data-dir={self._profile.name}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=place_pipes,  # noqa: PLW1509 — the protocol wants them to be 3 and 4
        )
        os.close(read_there)
        os.close(write_there)
        self._buffer, self._count, self._session = b"", 0, None
        self.requests, self.complaints = [], []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def close(self):
        self._process.terminate()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        self._profile.cleanup()

    def ask(self, method, **parameters):
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._count:
                assert "error" not in message, message
                return message["result"]
            self._note(message.get("method"), message.get("params", {}))

    def _message(self):
        while b"\0" not in self._buffer:
            found = os.read(self._read, 1 << 16)
            assert found, "the browser has gone"
            self._buffer += found
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def _note(self, method, parameters):
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}:
            self.complaints.append(parameters)

    def show(self, path, width=WIDE, height=900):
        """Open a file in a window of a size."""
        self.open(f"file://{path}", width, height)

    def open(self, url, width=WIDE, height=900):
        """Open an address in a window of a size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        self.ask("Page.navigate", url="about:blank")
        self.requests, self.complaints = [], []
        self.ask("Page.navigate", url=url)
        while self.value("document.readyState") != "complete":
            pass

    def value(self, expression, *, wait=False):
        """Return what an expression comes to, or what its promise does."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def violations(self):
        """Return what axe objects to in the page as it is: rules and elements."""
        self.value(f"{AXE.read_text('utf-8')}; 0")
        return self.value(
            "axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations"
            ".flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)}`)))",
            wait=True,
        )

    def press(self, *keys):
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            for kind in ("keyDown", "keyUp"):
                self.ask("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def shown(self, selector):
        """Return the ids or first words of what can be seen."""
        code = (
            f"[...document.querySelectorAll({selector!r})].filter((one) => one.offsetParent)"
            ".map((one) => one.id || one.textContent.trim().split(/\\s+/)[0])"
        )
        return self.value(code)

    @property
    def here(self):
        return self.value("document.activeElement.id || document.activeElement.tagName")
