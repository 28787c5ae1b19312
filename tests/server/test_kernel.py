"""A server in a real kernel, whose cells come and go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from jupyter_client.manager import start_new_kernel

pytestmark = [pytest.mark.notebook, pytest.mark.timeout(60)]

SETUP = """
import signal, time
from notebook_agents import Agent, ScriptedProvider, call, tool
from notebook_agents.server import serve

@tool(approval=True)
def erase(table: str) -> str:
    "Erase a table."
    return "erased " + table

script = ["Hello!", call("erase", table="sales"), "Done."]
agent = Agent(ScriptedProvider(script), [erase], name="desk")
before = signal.getsignal(signal.SIGINT)
server = serve(agent)
print(server.url, server.token, server.config.approvals)
"""


class Kernel:
    """One kernel and what its cells say."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def start(self, code: str) -> str:
        """Send a cell and wait until it runs."""
        request: str = self._client.execute(code, allow_stdin=True)
        for message in self._messages(request):
            if message["msg_type"] == "execute_input":
                return request
        pytest.fail("the cell did not begin")

    def finish(self, request: str) -> dict[str, Any]:
        """Read what a cell says until it is done."""
        said: dict[str, Any] = {"stream": "", "data": {}, "error": ""}
        for message in self._messages(request):
            content = message["content"]
            if message["msg_type"] == "stream":
                said["stream"] += content["text"]
            elif message["msg_type"] == "execute_result":
                said["data"] = content["data"]
            elif message["msg_type"] == "error":
                said["error"] = content["ename"]
            elif content.get("execution_state") == "idle":
                return said
        return said

    def run(self, code: str) -> dict[str, Any]:
        return self.finish(self.start(code))

    def _messages(self, request: str) -> Iterator[dict[str, Any]]:
        while True:
            message = self._client.get_iopub_msg(timeout=20)
            if message["parent_header"].get("msg_id") == request:
                yield message


def test_a_server_in_a_kernel_answers_while_a_cell_is_busy():
    """Requirements, check 34, and the panel, the signals and a restart."""
    manager, client = start_new_kernel(startup_timeout=30)
    try:
        kernel = Kernel(client)
        said = kernel.run(SETUP)
        assert said["error"] == ""
        url, token, approvals = said["stream"].split()
        assert approvals == "wait"
        headers = {"Authorization": f"Bearer {token}"}

        busy = kernel.start("time.sleep(30)")
        began = time.monotonic()
        assert httpx.get(f"{url}/health", timeout=20).status_code == 200
        body = {"message": "Hi"}
        answer = httpx.post(f"{url}/chat", json=body, headers=headers, timeout=20)
        assert answer.json()["response"] == "Hello!"
        assert time.monotonic() - began < 20

        manager.interrupt_kernel()
        assert kernel.finish(busy)["error"] == "KeyboardInterrupt"
        assert httpx.get(f"{url}/health", timeout=20).status_code == 200

        same = "serve(agent) is server, signal.getsignal(signal.SIGINT) == before"
        assert kernel.run(same)["data"]["text/plain"] == "(True, True)"

        panel = kernel.run("server")["data"]
        assert url in panel["text/html"]
        assert token not in str(panel)

        ask = (
            f"import httpx; httpx.post('{url}/chat', json={body}, "
            "headers={'Authorization': 'Bearer ' + server.token}, timeout=20)"
        )
        asking = kernel.start(f"{ask}.json()")
        ids = _wait_for_question(url, headers)
        httpx.post(
            f"{url}/approvals/{ids}", json={"decision": "allow"}, headers=headers
        )
        assert "Done." in kernel.finish(asking)["data"]["text/plain"]

        stopped = kernel.run("server.stop(); server.is_running")
        assert stopped["data"]["text/plain"] == "False"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def _wait_for_question(url: str, headers: dict[str, str]) -> str:
    end = time.monotonic() + 5
    while time.monotonic() < end:
        found = httpx.get(f"{url}/approvals", headers=headers).json()["approvals"]
        if found:
            return str(found[0]["id"])
    pytest.fail("nothing was asked")
