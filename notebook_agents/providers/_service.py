"""`HttpProvider`: what every model service over HTTP shares.

Keys and how they stay hidden, time limits, retries, and errors that say what
to do. A subclass speaks one wire format.
"""

from __future__ import annotations

import asyncio
import functools
from abc import abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Unpack
from urllib.parse import quote

from pydantic_core import from_json

from notebook_agents import checks
from notebook_agents._version import __version__
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers import _http
from notebook_agents.providers._connections import check_certificates
from notebook_agents.providers._failures import (
    Failure,
    ServiceFacts,
    redact,
    unreachable,
)
from notebook_agents.providers._http_options import (
    SHORTEST_KEY,
    HttpOptions,
    check_options,
    checked_headers,
    checked_key,
    limits_of,
    normalized_url,
    patience_of,
    secrets_in,
)
from notebook_agents.providers._limits import Place, estimated_tokens, limited
from notebook_agents.providers._listing import listed
from notebook_agents.providers._reading import Reply, read_reply
from notebook_agents.providers._refusals import object_in, refused
from notebook_agents.providers._retry import (
    Retries,
    asked_wait,
    may_retry,
    retried,
)
from notebook_agents.providers.base import Delta, ModelRequest, Provider, RetryDelta
from notebook_agents.settings import get_settings

__all__ = ["Access", "HttpProvider"]

OK = 200
MOST_ERROR_BYTES = 2**20


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """What one request is sent with, besides its body."""

    key: str
    verify: _http.Verify


class HttpProvider(Provider):
    """A model service over HTTP.

    Parameters
    ----------
    base_url : str
        Where the service is, such as ``"http://localhost:8000/v1"``.
    model : str or None
        The model, as the service spells it.
    api_key : str, optional
        The key; by default that of the environment, looked up at each request.
    **options
        As in `HttpOptions`.

    Raises
    ------
    AgentConfigurationError
        If the URL, the key or an option cannot be right.
    """

    key_name: str | None = None
    """Under what name the environment has the key that a request needs."""
    unreachable_hint = "Is the URL right, and the service running?"
    missing_model_hint = "Check its name."
    missing_path_hint = "Check the base URL; most end in /v1."

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        api_key: str | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        check_options(options)
        self._given = Access(
            checked_key(api_key, self.name), options.get("verify", True)
        )
        self._extra_headers = checked_headers(options.get("extra_headers"))
        secrets = self._secrets(self._given)
        self.base_url = normalized_url(base_url, secrets=secrets)
        if model is not None:
            checks.text("model", model)
        self.model = (model or "").strip()
        self.max_retries = options.get("max_retries", 3)
        self._patience = patience_of(options)
        self._client = options.get("http_client")
        self._limits = limits_of(options, url=self.base_url, model=self.model)

    def __repr__(self) -> str:
        model = f" {self.model!r}" if self.model else ""
        return f"<{type(self).__name__}{model} at {self.shown_url}>"

    @property
    def shown_url(self) -> str:
        """The base URL, without a key where one stands in it."""
        return redact(self.base_url, self._secrets(self._given))

    # What a wire format adds.

    @abstractmethod
    def _path(self) -> str:
        """Give the path of a request, below the base URL."""

    @abstractmethod
    def _encode(self, request: ModelRequest) -> bytes:
        """Give the body of a request."""

    @abstractmethod
    def _new_reply(self, request: ModelRequest, service: ServiceFacts) -> Reply:
        """Make what reads one reply."""

    def _models_path(self) -> str:
        """Give the path of the list of models, below the base URL."""
        return "/models"

    def _auth_headers(self, key: str) -> dict[str, str]:
        """Give the headers that carry the key."""
        return {"Authorization": f"Bearer {key}"}

    def _give_in(self, body: object) -> bool:
        """Leave out from now on what was refused; False if that does not help."""
        del body
        return False

    async def _prepare(self, access: Access) -> None:
        """Find out what is needed before the first request."""

    # One request.

    async def respond(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask once, as in `Provider.respond`.

        Parameters
        ----------
        request : ModelRequest
            What to ask.

        Yields
        ------
        TextDelta, ReasoningDelta, RetryDelta or ModelReply
            The reply as it arrives. Once a text has been yielded nothing is
            tried again.

        Raises
        ------
        AgentConfigurationError
            If a key is needed and there is none; nothing has been sent then.
        AgentProviderError
            If the service cannot be reached, refuses, or breaks off.
        """
        access = self._access()
        asked = request.max_retries
        retries = Retries(self.max_retries if asked is None else asked)
        while True:
            failure, has_spoken = None, False
            deltas = self._when_allowed(request, access)
            try:
                async for delta in deltas:
                    has_spoken = type(delta) is not RetryDelta
                    yield delta
            except Failure as caught:
                failure = caught
            finally:
                await deltas.aclose()
            if failure is None:
                return
            again = retries.after(failure, is_last=has_spoken)
            yield again
            await asyncio.sleep(again.wait_s)

    def _when_allowed(
        self, request: ModelRequest, access: Access
    ) -> AsyncGenerator[Delta, None]:
        """Try once, as soon as the limits allow it."""
        deltas = self._ask(request, access)
        if self._limits is None:
            return deltas
        tokens = estimated_tokens(request) if self._limits.tokens else 0
        place = functools.partial(self._limits.place, access.key, tokens=tokens)
        return limited(deltas, place)

    async def _ask(
        self, request: ModelRequest, access: Access
    ) -> AsyncGenerator[Delta, None]:
        """Try once."""
        exchange: _http.Exchange | None = None
        try:
            await self._prepare(access)
            encode = functools.partial(self._encode, request)
            exchange = await self._accepted("POST", self._path(), access, encode)
            deltas = read_reply(exchange, self._new_reply(request, self._facts(access)))
            try:
                async for delta in deltas:
                    yield delta
            finally:
                await deltas.aclose()
        except _http.TransportError as error:
            # Not the HTTP library's error, which knows the request and so the key.
            raise unreachable(error, self._facts(access)) from error.original
        finally:
            if exchange is not None:
                await exchange.aclose()

    async def models(self) -> list[str]:
        """List the models of the service, as in `BaseProvider.models`."""
        asking = self._fetch("GET", self._models_path(), max_retries=self.max_retries)
        return await listed(asking, self._facts(self._given))

    async def _fetch(
        self,
        method: str,
        path: str,
        encode: Callable[[], bytes] | None = None,
        *,
        max_retries: int,
        tokens: int = 0,
        prepares: bool = False,
    ) -> dict[str, Any]:
        """Ask for what does not come as a stream, until there is a reply."""
        access = self._access()
        facts = self._facts(access)

        async def attempt() -> dict[str, Any]:
            async with self._in_line(access, tokens) as place:
                try:
                    if prepares:
                        await self._prepare(access)
                    reply = await self._whole(method, path, access, encode)
                except _http.TransportError as error:
                    raise unreachable(error, facts) from error.original
                if place is not None:
                    place.count_in(reply)
                return object_in(reply, facts)

        return await retried(attempt, most=max_retries)

    def _in_line(
        self, access: Access, tokens: int
    ) -> AbstractAsyncContextManager[Place | None]:
        if self._limits is None:
            return nullcontext()
        return self._limits.place(access.key, tokens=tokens)

    async def _whole(
        self,
        method: str,
        path: str,
        access: Access,
        encode: Callable[[], bytes] | None = None,
    ) -> object:
        """Ask once for what does not come as a stream; the parsed answer."""
        exchange = await self._accepted(method, path, access, encode)
        try:
            return await _body_of(exchange)
        finally:
            await exchange.aclose()

    async def _accepted(
        self,
        method: str,
        path: str,
        access: Access,
        encode: Callable[[], bytes] | None = None,
    ) -> _http.Exchange:
        """Ask; what the service does not know is left out and asked again."""
        while True:
            sent = encode() if encode is not None else None
            exchange = await self._send(method, path, access, sent)
            if exchange.status == OK:
                return exchange
            try:
                body = await _body_of(exchange)
            finally:
                await exchange.aclose()
            if encode is None or exchange.status not in {400, 422}:
                raise self._refused(exchange, body, access)
            # Another request may have learnt the same meanwhile.
            if not self._give_in(body) and encode() == sent:
                raise self._refused(exchange, body, access)

    async def _send(
        self, method: str, path: str, access: Access, body: bytes | None = None
    ) -> _http.Exchange:
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            # Compressed, a stream may be held back until a block is full.
            "Accept-Encoding": "identity",
            "User-Agent": f"notebook-agents/{__version__}",
        }
        if access.key:
            headers |= self._auth_headers(access.key)
        return await _http.send(
            method,
            self.base_url + path,
            headers | self._extra_headers,
            body,
            patience=self._patience,
            verify=access.verify,
            client=self._client,
        )

    def _refused(
        self, exchange: _http.Exchange, body: object, access: Access
    ) -> Failure:
        return refused(
            exchange.status,
            body,
            self._facts(access),
            wait_s=asked_wait(exchange.headers),
            should_retry=may_retry(exchange.headers),
        )

    # What it is sent with.

    def _access(self) -> Access:
        """Look up what the user has not given, now."""
        key, verify = self._given.key, self._given.verify
        needs_key = self.key_name is not None and not key
        needs_trust = verify is True and self.base_url.startswith("https:")
        if not (needs_key or needs_trust):
            return self._given
        settings = get_settings()
        if self.key_name is not None and needs_key:
            found = settings.require_key(self.key_name)
            key = checked_key(found, self.key_name, least=SHORTEST_KEY)
        if needs_trust and settings.ca_bundle is not None:
            verify = settings.ca_bundle
            check_certificates(verify)
        return Access(key, verify)

    def _secrets(self, access: Access) -> tuple[str, ...]:
        """Give what no text may show."""
        key = access.key
        if self.key_name is not None and not key:
            with suppress(AgentConfigurationError):  # which a request will tell
                key = get_settings().keys.get(self.key_name, "")
        known = (key, *secrets_in(self._extra_headers))
        return (*known, *(quote(each, safe="") for each in known))  # as in a URL

    def _facts(self, access: Access) -> ServiceFacts:
        secrets = self._secrets(access)
        return ServiceFacts(
            name=self.name,
            url=redact(self.base_url, secrets),
            model=self.model,
            secrets=secrets,
            unreachable_hint=self.unreachable_hint,
            missing_model_hint=self.missing_model_hint.format(model=self.model),
            missing_path_hint=self.missing_path_hint,
        )


async def _body_of(exchange: _http.Exchange) -> object:
    """Give the parsed body, or its text where it is not JSON."""
    is_ok = exchange.status == OK
    most = _http.MOST_WHOLE_BYTES if is_ok else MOST_ERROR_BYTES
    try:
        body = await exchange.read(most)
    except _http.TransportError as error:
        if is_ok:
            raise
        return error.detail  # the status alone says enough
    try:
        return from_json(body)
    except ValueError:
        return body.decode("utf-8", "replace")
