"""`cassette`: exchanges with a real service, recorded once and replayed from then on."""

from __future__ import annotations

import codecs
import json
import os
import re
import tempfile
import threading
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from notebook_agents import checks
from notebook_agents.providers._http import interpose
from notebook_agents.providers._transport import TransportError, Trouble
from notebook_agents.providers._wire import Head, Patience, Wire
from notebook_agents.settings import KEY_NAMES, get_settings
from notebook_agents.testing.exchange import Exchange
from notebook_agents.testing.scrubbing import Scrubber

__all__ = ["CassetteError", "Tape", "cassette"]

FORMAT = 1
NO_KEY = "not-a-key-but-a-cassette"
_KEPT_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
"""What of a reply's headers means something to a client; the rest may name accounts."""


class CassetteError(AssertionError):
    """A request is not the one that was recorded, or one of those is missing."""


class Tape:
    """What `cassette` gives: what was recorded, or is replayed.

    Parameters
    ----------
    path : Path
        The file.
    is_recording : bool
        Whether services are asked, and the file is written.
    """

    def __init__(self, path: Path, *, is_recording: bool) -> None:
        self.path = path
        """The file."""
        self.is_recording = is_recording
        """Whether services are asked, and the file is written."""
        self.exchanges: list[Exchange] = []
        """All of them, in the order of the requests."""
        self.keys: list[str] = []
        """Variables of the environment whose key was sent."""
        self._left: list[Exchange] = []
        self._scrubber = Scrubber()
        self._complaint = ""
        self._is_abandoned = False
        self._lock = threading.Lock()
        if not is_recording:
            self._read()

    def __repr__(self) -> str:
        what = "recording" if self.is_recording else "replaying"
        return f"<Tape {self.path.name}: {what}, {len(self.exchanges)} exchanges>"

    def over(self, wire: Wire) -> Wire:
        """Give what stands between a provider and its service."""
        return _Recorder(self, wire) if self.is_recording else _Player(self)

    def begin(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> Exchange:
        """Write a request down, without the keys that it is sent with."""
        self._scrubber.learn(headers)
        sent = " ".join(headers.values())
        for provider, key in get_settings().keys.items():
            variable = KEY_NAMES[provider][0]
            if key in sent and variable not in self.keys:
                self.keys.append(variable)
        return Exchange.begun(method, url, body, scrubber=self._scrubber)

    def keep(self, exchange: Exchange) -> None:
        """Keep an exchange whose request has been sent."""
        with self._lock:
            self.exchanges.append(exchange)

    def find(self, asked: Exchange) -> Exchange:
        """Find the recorded exchange that begins with a request.

        Parameters
        ----------
        asked : Exchange
            The request.

        Returns
        -------
        Exchange
            With the reply; it is not found twice.

        Raises
        ------
        CassetteError
            If there is none; the message says what differs from the next one.
        """
        with self._lock:
            for exchange in self._left:
                if not exchange.unlike(asked):
                    self._left.remove(exchange)
                    return exchange
            self._complaint = self._complain(asked)
            raise CassetteError(self._complaint)

    def abandon(self) -> None:
        """Write nothing and require nothing: the test has failed anyway."""
        self._is_abandoned = True

    def finish(self) -> None:
        """Write the file, or require that all of it was replayed.

        Raises
        ------
        CassetteError
            If a request was not there, or something is left.
        """
        if self._is_abandoned:
            return
        if self.is_recording:
            self._write()
            return
        if not self._complaint and self._left:
            count, first = len(self._left), self._left[0]
            self._complaint = (
                f"{count} of {len(self.exchanges)} recorded requests did not come, "
                f"the first of them {first.method} {first.url}. {self._advice}"
            )
        if self._complaint:  # also where the first complaint was swallowed
            raise CassetteError(self._complaint)

    @property
    def _advice(self) -> str:
        return f"To record anew, delete {self.path.name} or pass record=True."

    def _complain(self, asked: Exchange) -> str:
        number = len(self.exchanges) - len(self._left) + 1
        if not self._left:
            return (
                f"Request {number} ({asked.method} {asked.url}) was not recorded: "
                f"{self.path.name} has {number - 1}. {self._advice}"
            )
        told = "\n".join(f"- {each}" for each in self._left[0].unlike(asked))
        return (
            f"Request {number} is not the one in {self.path.name}:\n{told}\n"
            f"{self._advice}"
        )

    def _read(self) -> None:
        try:
            found = json.loads(self.path.read_text("utf-8", "surrogatepass"))
            self.exchanges = [Exchange(**each) for each in found["exchanges"]]
            self.keys = [*map(str, found["keys"])]
        except FileNotFoundError:
            message = (
                f"There is no cassette at {str(self.path)!r}; record=True makes it."
            )
            raise CassetteError(message) from None
        except (ValueError, LookupError, TypeError) as error:
            message = f"{str(self.path)!r} is no cassette: {error}. {self._advice}"
            raise CassetteError(message) from error
        self._left = list(self.exchanges)

    def _write(self) -> None:
        exchanges = [self._scrubbed(exchange) for exchange in self.exchanges]
        found = {"format": FORMAT, "keys": self.keys, "exchanges": exchanges}
        text = json.dumps(found, indent=1, ensure_ascii=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # At once or not at all: half a file would be replayed as if it were whole.
        with tempfile.NamedTemporaryFile(
            "w",
            encoding="utf-8",
            errors="surrogatepass",
            dir=self.path.parent,
            prefix=f".{self.path.name}",
            delete=False,
        ) as file:
            file.write(f"{self._scrubber.text(text)}\n")
        Path(file.name).replace(self.path)

    def _scrubbed(self, exchange: Exchange) -> dict[str, Any]:
        said = "".join(exchange.reply)
        clean = self._scrubber.text(said)
        # A key may have come in two pieces.
        pieces = exchange.reply if clean == said else re.split(r"(?<=\n\n)", clean)
        return {**asdict(exchange), "reply": pieces}


class _Recorder:
    """Ask the service, and write down what it says."""

    def __init__(self, tape: Tape, wire: Wire) -> None:
        self._tape = tape
        self._wire = wire

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
    ) -> Head:
        exchange = self._tape.begin(method, url, headers, body)
        head = await self._wire.send(method, url, headers, body, patience)
        exchange.status = head.status
        exchange.headers = {
            name: head.headers[name] for name in _KEPT_HEADERS if name in head.headers
        }
        packing = head.headers.get("content-encoding", "identity")
        self._tape.keep(exchange)
        return Head(
            status=head.status,
            headers=head.headers,
            body=_recorded(head.body, exchange, is_packed=packing != "identity"),
            close=head.close,
        )

    async def aclose(self) -> None:
        await self._wire.aclose()


class _Player:
    """Say what a service has said."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
    ) -> Head:
        del patience  # nothing is waited for
        found = self._tape.find(self._tape.begin(method, url, headers, body))
        return Head(
            status=found.status,
            headers=found.headers,
            body=_replayed(found),
            close=_nothing_to_close,
        )

    async def aclose(self) -> None:
        """Have nothing to close."""


@contextmanager
def cassette(
    path: str | os.PathLike[str], *, record: bool | None = None
) -> Iterator[Tape]:
    """Record what model services say, once, and replay it from then on.

    Whatever any agent of this process asks meanwhile goes over the tape. Keys are
    taken out of URLs, headers and bodies, so the file can be committed; a replay
    needs no key and no network.

    Parameters
    ----------
    path : str or path
        The file, of JSON.
    record : bool, optional
        Whether to ask the services, and write the file anew; by default if there is
        none. False never does, as is right for a build.

    Yields
    ------
    Tape
        Its ``exchanges`` are what was said.

    Raises
    ------
    CassetteError
        If a replayed request differs from the recorded one, at once and, if that
        is swallowed, at the end; also if a recorded request does not come. After
        another error nothing is written, and nothing more is raised.

    Examples
    --------
    >>> from notebook_agents import Agent
    >>> from notebook_agents.providers import OpenAICompatibleProvider
    >>> from notebook_agents.testing import cassette, wire_server
    >>> with wire_server("chat/answer") as server, cassette("hello.json"):
    ...     provider = OpenAICompatibleProvider(server.url, "any-model")
    ...     print(Agent(provider).run_sync("Hi"))
    Hello.
    >>> with cassette("hello.json"):  # the server has gone
    ...     print(Agent(provider).run_sync("Hi"))
    Hello.
    """
    path = checks.path("path", path)
    tape = Tape(path, is_recording=not path.exists() if record is None else record)
    take_away = interpose(tape.over)
    put_back = _pretend_keys([] if tape.is_recording else tape.keys)
    try:
        yield tape
    finally:
        take_away()
        put_back()
    tape.finish()


def _pretend_keys(variables: list[str]) -> Any:
    """Let providers believe that they have the keys with which it was recorded."""
    missing = [name for name in variables if not os.environ.get(name)]
    os.environ.update(dict.fromkeys(missing, NO_KEY))

    def put_back() -> None:
        for name in missing:
            os.environ.pop(name, None)

    return put_back


async def _recorded(
    body: AsyncGenerator[bytes, None], exchange: Exchange, *, is_packed: bool
) -> AsyncGenerator[bytes, None]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress if is_packed else bytes
    try:
        async for chunk in body:
            piece = decoder.decode(unpack(chunk))
            if piece:
                exchange.reply.append(piece)
            yield chunk
    except Exception:
        exchange.is_broken = True
        raise
    finally:
        await body.aclose()


async def _replayed(exchange: Exchange) -> AsyncGenerator[bytes, None]:
    for piece in exchange.reply:
        yield piece.encode("utf-8", "surrogateescape")
    if exchange.is_broken:
        raise TransportError(Trouble.CUT)


async def _nothing_to_close() -> None:
    return
