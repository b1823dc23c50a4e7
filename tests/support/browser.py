"""A headless Chromium, driven by its DevTools protocol, for tests of HTML pages."""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

_TOOLS = Path(__file__).parents[2] / ".tools" / "bin"
_NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
_DEADLINE = 60.0


def executable() -> str:
    """Return the browser on the PATH or in .tools. `make test` installs one."""
    path = next(
        (found for name in _NAMES if (found := shutil.which(name) or shutil.which(name, path=str(_TOOLS)))), None
    )
    assert path is not None, "no Chromium: run make .tools/chromium.ready"
    return path


class Page:
    """A tab. It collects the requests that the page makes, and the errors that the console shows."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._loaded = asyncio.Event()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._browser.call(method, params, self._session)

    def receive(self, method: str, params: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.errors.append(str(params["args"]))

    async def open(self, page: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a file or an address in a window of this size, with a light or dark colour scheme."""
        for domain in ("Page", "Network", "Log", "Runtime", "Accessibility", "DOM"):
            await self.call(f"{domain}.enable")
        await self.emulate(width, height, dark=dark)
        self._loaded.clear()
        await self.call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page)
        await asyncio.wait_for(self._loaded.wait(), _DEADLINE)

    async def emulate(self, width: int, height: int = 900, *, dark: bool = False, media: str = "") -> None:
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression as JSON."""
        out = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in out, out
        return out["result"].get("value")

    async def accessible_nodes(self) -> list[tuple[str, str]]:
        """Return the role and the name of each node that a screen reader presents."""
        nodes = (await self.call("Accessibility.getFullAXTree"))["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
        ]

    async def press(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=9)

    async def screenshot(self, file: Path) -> None:
        """Write the whole page as a PNG."""
        size = (await self.call("Page.getLayoutMetrics"))["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        out = await self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(out["data"]))


class Browser:
    """A running browser with one connection to its DevTools."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}

    async def page(self) -> Page:
        """Open a tab."""
        target = (await self.call("Target.createTarget", {"url": "about:blank"}))["targetId"]
        session = (await self.call("Target.attachToTarget", {"targetId": target, "flatten": True}))["sessionId"]
        self._pages[session] = Page(self, session)
        return self._pages[session]

    async def call(self, method: str, params: dict[str, Any], session: str = "") -> dict[str, Any]:
        number = next(self._numbers)
        future = self._pending[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": params}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        answer = await asyncio.wait_for(future, _DEADLINE)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer.get("result", {})  # type: ignore[no-any-return]

    async def receive(self) -> None:
        """Pass messages to the calls and pages that wait for them, until the browser closes the connection."""
        async for message in self._socket:
            data = message.json()
            if "id" in data:
                self._pending.pop(data["id"]).set_result(data)
            elif (page := self._pages.get(data.get("sessionId", ""))) is not None:
                page.receive(data["method"], data["params"])


@asynccontextmanager
async def launch(profile: Path) -> AsyncIterator[Browser]:
    """Run a browser with a new profile until the block ends."""
    # The sandbox needs privileges that containers lack. The browser opens only files of the tests.
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    quiet = ["--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    process = await asyncio.create_subprocess_exec(
        executable(),
        *flags,
        *quiet,
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        url = await asyncio.wait_for(_address(process), _DEADLINE)
        async with aiohttp.ClientSession() as client, client.ws_connect(url, max_msg_size=0) as socket:
            browser = Browser(socket)
            receiving = asyncio.create_task(browser.receive())
            yield browser
            await browser.call("Browser.close", {})
            await receiving
    finally:
        if process.returncode is None:
            try:
                await asyncio.wait_for(process.communicate(), 10)
            except TimeoutError:
                process.kill()
                await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    """Return the address of the DevTools, which the browser prints when it is ready."""
    assert process.stderr is not None
    printed = []
    async for line in process.stderr:
        printed.append(line.decode(errors="replace"))
        if "DevTools listening on " in printed[-1]:
            return printed[-1].split("DevTools listening on ")[1].strip()
    raise AssertionError(f"the browser did not start:\n{''.join(printed)}")
