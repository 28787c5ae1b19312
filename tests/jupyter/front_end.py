"""A front end without a browser: it runs cells, shows cards, clicks and types.

It sends a click where a real one would: JupyterLab past the busy cell if the
kernel has subshells, VS Code and Colab always behind it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

Answer = str | Callable[[], object] | None
"""What the person types, does instead, or None: they say nothing."""

VIEW = "application/vnd.jupyter.widget-view+json"
CHANNELS = ("iopub", "shell", "stdin", "control")
REPEAT_SECONDS = 0.3
REPEATS = 16


class Card:
    """An approval card on screen, as far as the kernel can tell.

    Parameters
    ----------
    comm : str
        The widget's identifier.
    click : str
        The button that the person clicks as soon as they see it: ``"allow"``,
        ``"deny"``, ``"always"`` or ``"stop"``; empty for none.
    """

    def __init__(self, comm: str, click: str) -> None:
        self.comm = comm
        self.is_over = False
        self.told: list[dict[str, Any]] = []
        """What a page that was loaded again is told, in the order of time."""
        self.acknowledged: list[Any] = []
        """The numbers of the clicks that the kernel has heard."""
        self._messages: list[dict[str, Any]] = [{"kind": "ready"}]
        if click:
            self.click(click)
        self._times = dict.fromkeys(("ready", "decision"), REPEATS)
        self._next_at = 0.0

    def click(self, button: str) -> None:
        """Click a button."""
        self._messages.append({"kind": "decision", "n": 1, "decision": button})

    def says(self) -> list[dict[str, Any]]:
        """Repeat, as the real one does, what has not been acknowledged."""
        now = time.monotonic()
        if self.is_over or now < self._next_at:
            return []
        self._next_at = now + REPEAT_SECONDS
        due = [said for said in self._messages if self._times[said["kind"]] > 0]
        for said in due:
            self._times[said["kind"]] -= 1
        return due

    def hears(self, content: dict[str, Any]) -> None:
        """Take in what the kernel says to the widget."""
        if content.get("kind") == "ack":
            self._times[content["of"]] = 0
            self.acknowledged.append(content["n"])
        elif content.get("kind") in {"below", "decided"}:
            self.is_over = True


@dataclass
class Reply:
    """What a cell gave."""

    status: str = ""
    texts: list[str] = field(default_factory=list)
    printed: str = ""
    """What it wrote to its standard output; warnings are not among it."""
    prompts: list[str] = field(default_factory=list)
    next_inputs: list[str] = field(default_factory=list)
    """The cells that it proposes to put below."""
    seconds: dict[str, float] = field(default_factory=dict)
    """When the click, the input box and the end came, since the cell was sent."""

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


class Cell:
    """A cell that has been sent to the kernel."""

    def __init__(
        self, front_end: FrontEnd, answers: list[Answer], *, click: str, has_card: bool
    ) -> None:
        self.reply = Reply()
        self.request = ""
        self._front_end = front_end
        self._answers = answers
        self._click = click
        self._has_card = has_card
        self._cards: dict[str, Card] = {}
        self._missing = {"reply", "idle"}
        self._is_stream = False
        self._began = time.monotonic()

    @property
    def is_done(self) -> bool:
        """Whether the kernel has answered and said all that it says."""
        return not self._missing

    @property
    def age(self) -> float:
        """Seconds since it was sent."""
        return time.monotonic() - self._began

    def shows(self, text: str) -> bool:
        """Tell whether a text is on screen, in an output or in the input box."""
        return text in "\n".join([*self.reply.texts, *self.reply.prompts])

    def click(self, button: str) -> None:
        """Click a button on each card that is shown."""
        for card in self._cards.values():
            card.click(button)

    def load_again(self) -> None:
        """Load the page again, on which the cards are then shown anew."""
        for card in self._cards.values():
            ready = {"kind": "ready", "page": "loaded again"}
            self._front_end.send_to_widget(card.comm, ready)

    @property
    def first_card(self) -> Card:
        """The card that was shown first."""
        return next(iter(self._cards.values()))

    @property
    def told(self) -> list[dict[str, Any]]:
        """What the cards of that page are told of what goes on."""
        return [told for card in self._cards.values() for told in card.told]

    def act(self) -> None:
        """Let the cards say what they have to say."""
        for card in self._cards.values():
            for said in card.says():
                if said["kind"] == "decision":
                    self._note("click")
                self._front_end.send_to_widget(card.comm, said)

    def take(self, channel: str, message: dict[str, Any]) -> None:
        """Take in a message, if it is for this cell."""
        kind, content = message["msg_type"], message["content"]
        card = self._cards.get(content.get("comm_id", ""))
        if card is not None:  # it may come in answer to a click
            self._take_comm(card, kind, content)
        elif message["parent_header"].get("msg_id") != self.request:
            return
        elif channel == "shell":
            self._take_reply(content)
        elif kind == "input_request":
            self._take_prompt(content["prompt"])
        else:
            self._take_output(kind, content)
        if self.is_done:
            self._note("end")

    def _take_reply(self, content: dict[str, Any]) -> None:
        self.reply.status = content["status"]
        self._missing.discard("reply")
        for payload in content.get("payload", ()):
            if payload["source"] == "set_next_input":
                self.reply.next_inputs.append(payload["text"])

    def _take_comm(self, card: Card, kind: str, content: dict[str, Any]) -> None:
        if kind == "comm_close":
            card.is_over = True
        elif content["data"].get("method") == "custom":
            card.hears(content["data"]["content"])
        elif "after" in content["data"].get("state", ()):
            card.told.append(content["data"]["state"]["after"])

    def _take_prompt(self, prompt: str) -> None:
        self._note("prompt")
        self.reply.prompts.append(prompt)
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            self._front_end.type(answer)
        elif answer is not None:
            answer()

    def _take_output(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "status" and content["execution_state"] == "idle":
            self._missing.discard("idle")
        elif kind == "stream":
            self._show(content["text"], goes_on=self._is_stream)
            if content["name"] == "stdout":
                self.reply.printed += content["text"]
        elif kind == "error":
            self._show("\n".join(content["traceback"]))
        elif VIEW in content.get("data", ()):
            self._show("[card]")
            if self._has_card:
                comm = content["data"][VIEW]["model_id"]
                self._cards[comm] = Card(comm, self._click)
        elif "data" in content:
            self._show(content["data"].get("text/plain", ""))
        self._is_stream = kind == "stream"

    def _show(self, text: str, *, goes_on: bool = False) -> None:
        texts = self.reply.texts
        if goes_on and texts:  # what is printed may come in pieces
            texts[-1] += text
        else:
            texts.append(text)

    def _note(self, what: str) -> None:
        self.reply.seconds.setdefault(what, self.age)


class FrontEnd:
    """One notebook and one person, connected to a kernel.

    Parameters
    ----------
    manager : KernelManager
        Whose kernel it is.
    has_subshells : bool, default False
        Whether clicks go past the cell, where the kernel can do that.
    has_person : bool, default True
        Whether cells may ask for input at all.
    """

    def __init__(
        self,
        manager: KernelManager,
        *,
        has_subshells: bool = False,
        has_person: bool = True,
    ) -> None:
        self._manager = manager
        self._has_person = has_person
        own = Session(key=manager.session.key)  # each tab has a session of its own
        self._client: BlockingKernelClient = manager.client(session=own)
        self._client.start_channels()
        self._client.wait_for_ready(timeout=40)
        self._poller = zmq.Poller()
        for name in CHANNELS:
            self._poller.register(self._channel(name).socket, zmq.POLLIN)
        self._subshell = self._make_subshell() if has_subshells else None
        self._cells: list[Cell] = []

    def close(self) -> None:
        """Go away, as a closed tab does."""
        self._client.stop_channels()

    def is_alive(self) -> bool:
        """Tell whether the kernel's process is there."""
        return bool(self._manager.is_alive())

    def interrupt(self) -> None:
        """Press Stop in the toolbar."""
        self._manager.interrupt_kernel()

    def start(
        self,
        code: str,
        *answers: Answer,
        click: str = "",
        has_card: bool = False,
        cell: str = "",
    ) -> Cell:
        """Send a cell, which may have to wait behind others.

        Parameters
        ----------
        code : str
            The cell.
        *answers : str, callable or None
            One for each input box.
        click : str
            The button that is clicked on each card.
        has_card : bool, default False
            Whether cards are drawn; they are if there is a ``click``.
        cell : str
            The identifier that a notebook would send along.
        """
        sent = Cell(self, list(answers), click=click, has_card=has_card or bool(click))
        self._client.session.metadata = {"cellId": cell} if cell else {}
        sent.request = self._client.execute(code, allow_stdin=self._has_person)
        self._cells.append(sent)
        return sent

    def run(self, code: str, *answers: Answer, stop_at: str = "", **how: Any) -> Reply:
        """Run a cell to its end; it is interrupted once it shows ``stop_at``."""
        cell = self.start(code, *answers, **how)
        if stop_at:
            self.follow(lambda: cell.is_done or cell.shows(stop_at))
            self.interrupt()
        return self.finish(cell)

    def finish(self, cell: Cell, limit: float = 30) -> Reply:
        """Wait until a cell is done."""
        self.follow(lambda: cell.is_done, limit)
        if cell.reply.status == "error":
            # Until the kernel looks up again, ipykernel 6 drops what follows.
            self._client.kernel_info(reply=True, timeout=20)
        return cell.reply

    def follow(self, is_seen: Callable[[], bool], limit: float = 30) -> None:
        """Take part in what happens until something is seen."""
        end = time.monotonic() + limit
        while not is_seen():
            self._look()
            replies = [cell.reply for cell in self._cells]
            assert time.monotonic() < end, f"it hangs: {replies}"
        self._cells = [cell for cell in self._cells if not cell.is_done]

    def _look(self) -> None:
        ready = dict(self._poller.poll(20))
        for name in CHANNELS:
            channel = self._channel(name)
            while channel.socket in ready and channel.msg_ready():
                message = channel.get_msg(timeout=1)
                for cell in self._cells:
                    cell.take(name, message)
        for cell in self._cells:
            cell.act()

    # What a cell needs of its front end.

    def type(self, text: str) -> None:
        self._client.input(text)

    def send_to_widget(self, comm: str, content: dict[str, Any]) -> None:
        data = {"method": "custom", "content": content}
        message = self._client.session.msg("comm_msg", {"comm_id": comm, "data": data})
        if self._subshell is not None:
            message["header"]["subshell_id"] = self._subshell
        self._client.shell_channel.send(message)

    def _channel(self, name: str) -> Any:
        return getattr(self._client, f"{name}_channel")

    def _make_subshell(self) -> str | None:
        info = self._client.kernel_info(reply=True, timeout=20)["content"]
        if "kernel subshells" not in info.get("supported_features", ()):
            return None
        message = self._client.session.msg("create_subshell_request", {})
        self._client.control_channel.send(message)
        reply = self._client.get_control_msg(timeout=20)
        return str(reply["content"]["subshell_id"])


@contextlib.contextmanager
def running_kernel(name: str = "python3") -> Iterator[KernelManager]:
    """Start a kernel, and end it whatever happens."""
    manager = KernelManager(kernel_name=name)
    manager.start_kernel()
    try:
        yield manager
    finally:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


@contextlib.contextmanager
def front_end_of(manager: KernelManager, **how: bool) -> Iterator[FrontEnd]:
    """Open a tab on a kernel, and close it."""
    front_end = FrontEnd(manager, **how)
    try:
        yield front_end
    finally:
        front_end.close()
