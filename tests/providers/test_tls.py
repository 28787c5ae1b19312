"""A service over TLS is trusted for its certificate alone, with either library."""

from __future__ import annotations

import ssl

import pytest
import trustme

from notebook_agents.providers._http import Patience, TransportError, send
from notebook_agents.providers._transport import Trouble
from tests.providers.wire import whole, wire_server

pytestmark = pytest.mark.usefixtures("transport")

QUICK = Patience(connect=5, stall=5)


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def certificate(authority, tmp_path):
    """Give the path of what a client has to trust."""
    path = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(path)
    return path


@pytest.fixture
def server(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with wire_server(tls=context) as running:
        yield running


async def ask(server, host: str = "127.0.0.1", **options) -> int:
    url = f"https://{host}:{server.port}/v1"
    exchange = await send("POST", url, {}, b"{}", patience=QUICK, **options)
    try:
        await exchange.read()
    finally:
        await exchange.aclose()
    return exchange.status


async def test_a_certificate_that_is_named_is_trusted(server, certificate):
    server.say(whole(200, {}), whole(200, {}))
    assert await ask(server, verify=certificate) == 200
    assert await ask(server, verify=str(certificate)) == 200
    assert server.connections == 1


async def test_a_context_of_the_user_is_used(server, certificate):
    server.say(whole(200, {}))
    context = ssl.create_default_context(cafile=certificate)
    assert await ask(server, verify=context) == 200


async def test_an_unknown_certificate_is_refused(server):
    with pytest.raises(TransportError) as caught:
        await ask(server, verify=True)
    assert caught.value.kind is Trouble.TLS
    assert isinstance(caught.value.original, ssl.SSLCertVerificationError)


async def test_a_certificate_of_another_host_is_refused(server, certificate):
    with pytest.raises(TransportError) as caught:
        await ask(server, host="localhost", verify=certificate)
    assert caught.value.kind is Trouble.TLS


async def test_nothing_is_verified_where_that_is_asked_for(server):
    server.say(whole(200, {}))
    assert await ask(server, verify=False) == 200


async def test_trust_of_one_request_is_not_that_of_another(server):
    server.say(whole(200, {}))
    assert await ask(server, verify=False) == 200
    with pytest.raises(TransportError):
        await ask(server, verify=True)
