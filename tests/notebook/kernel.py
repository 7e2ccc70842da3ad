"""A real Jupyter kernel, and what a front end would see of its cells."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.prompts.terminal import CHECKOUT


class Kernel:
    """A kernel and what its cells show."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.manager = manager
        self.client = client

    @classmethod
    def start(cls) -> Kernel:
        return cls(*start_new_kernel(env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, startup_timeout=120))

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def kill(self) -> None:
        """SIGKILL; the manager would interrupt the kernel first."""
        assert self.manager.provisioner
        os.kill(self.manager.provisioner.pid, signal.SIGKILL)

    def messages(self, code: str) -> Iterator[dict[str, Any]]:
        """What a cell sends to the front end, until it is done."""
        ident = self.client.execute(code)
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            if message["parent_header"].get("msg_id") != ident:
                continue
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return
            yield message

    def shows(self, code: str) -> list[tuple[str, str]]:
        """Type and HTML (or text) of what a cell shows; what is updated stands where it was shown first."""
        shown: dict[str, tuple[str, str]] = {}
        for number, message in enumerate(self.messages(code)):
            kind, content = message["msg_type"], message["content"]
            key = content.get("transient", {}).get("display_id", str(number))
            if kind in ("display_data", "update_display_data", "execute_result"):
                shown[key] = ("display" if "display" in kind else "result", content["data"].get("text/html", ""))
            elif kind == "stream":
                shown[key] = (content["name"], content["text"])
            elif kind == "error":
                shown[key] = ("error", "\n".join(content["traceback"]))
        return list(shown.values())

    def interrupted(self, code: str, sign: str) -> dict[str, Any]:
        """Interrupt the cell as soon as it shows ``sign``; its last message."""
        waiting = True
        for message in self.messages(code):
            if waiting and sign in message["content"].get("data", {}).get("text/html", ""):
                self.manager.interrupt_kernel()
                waiting = False
        return message

    def until(self, sign: str) -> str:
        """The HTML of the first widget that shows ``sign`` from now on."""
        while True:
            message = self.client.get_iopub_msg(timeout=60)
            value = message["content"].get("data", {}).get("state", {}).get("value", "")
            if message["msg_type"] in ("comm_open", "comm_msg") and sign in str(value):
                return str(value)

    def click(self, model: str, event: str = "click") -> None:
        """What a front end sends when a widget is clicked, or Enter is pressed in one."""
        content = {"comm_id": model, "data": {"method": "custom", "content": {"event": event}}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", content))

    def change(self, model: str, **state: object) -> None:
        """What a front end sends when a widget gets another value."""
        content = {"comm_id": model, "data": {"method": "update", "state": state, "buffer_paths": []}}
        self.client.shell_channel.send(self.client.session.msg("comm_msg", content))

    def value(self, expression: str) -> str:
        """The text of an expression."""
        reply = self.client.execute("", user_expressions={"it": expression}, reply=True, timeout=60)
        data = reply["content"]["user_expressions"]["it"]
        assert data["status"] == "ok", data
        return str(data["data"]["text/plain"]).strip("'")
