"""The guards that hold for every test hold."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _run_pytest(
    folder: Path, code: str, **env: str
) -> subprocess.CompletedProcess[str]:
    folder.joinpath("conftest.py").write_bytes(
        HERE.joinpath("conftest.py").read_bytes()
    )
    folder.joinpath("pytest.ini").write_text("[pytest]\nmarkers = browser\n")
    folder.joinpath("test_it.py").write_text(code)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("address", [("192.0.2.1", 9), ("2001:db8::1", 9)])
def test_a_connection_to_another_machine_is_refused(address, refused_connections):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with (
        socket.socket(family) as sock,
        pytest.raises(RuntimeError, match="not this machine"),
    ):
        sock.connect(address)
    refused_connections.clear()


def test_the_name_of_another_machine_is_not_looked_up(refused_connections):
    with pytest.raises(RuntimeError, match="not this machine"):
        urllib.request.urlopen("http://example.invalid")
    refused_connections.clear()


def test_the_loopback_is_allowed():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_a_swallowed_refusal_still_fails_the_test(tmp_path):
    code = (
        "import contextlib, socket\n"
        "def test_it():\n"
        "    with contextlib.suppress(Exception), socket.socket() as sock:\n"
        "        sock.connect(('192.0.2.1', 9))\n"
    )
    done = _run_pytest(tmp_path, code)
    assert "this test tried to reach" in done.stdout
    assert done.returncode == 1


SKIPS = {
    "call": "import pytest\ndef test_it(): pytest.skip('not now')\n",
    "mark": "import pytest\n@pytest.mark.skip(reason='not now')\ndef test_it(): ...\n",
    "module": "import pytest\npytest.skip('not now', allow_module_level=True)\n",
}


@pytest.mark.parametrize("code", SKIPS.values(), ids=SKIPS)
def test_a_skip_is_a_failure_where_nothing_may_be_skipped(code, tmp_path):
    done = _run_pytest(tmp_path, code, NOTEBOOK_AGENTS_NO_SKIP="1")
    assert "nothing may be skipped here: not now" in done.stdout
    assert done.returncode not in {0, 5}


def test_skips_are_told_in_one_line_a_reason(tmp_path):
    code = "import pytest\n@pytest.mark.parametrize('n', [1, 2])\n" + (
        "def test_it(n): pytest.skip('not now')\n"
    )
    done = _run_pytest(tmp_path, code, NOTEBOOK_AGENTS_NO_SKIP="")
    assert "skipped 2: not now" in done.stdout.splitlines()


def test_browser_tests_are_skipped_without_a_browser(tmp_path):
    code = "import pytest\n@pytest.mark.browser\ndef test_it(): raise ValueError\n"
    done = _run_pytest(tmp_path, code, NOTEBOOK_AGENTS_NO_SKIP="", PATH="")
    assert "skipped 1: no Chromium is installed" in done.stdout.splitlines()


def test_a_test_sees_no_key_and_a_home_of_its_own(tmp_path):
    code = (
        "import os\n"
        "def test_it(home):\n"
        "    assert os.environ['NOTEBOOK_AGENTS_HOME'].startswith(str(home))\n"
        "    assert not {'OPENAI_API_KEY', 'HF_TOKEN', 'HTTPS_PROXY',\n"
        "                'https_proxy', 'LLM_MODEL'} & set(os.environ)\n"
    )
    keys = dict.fromkeys(
        ["OPENAI_API_KEY", "HF_TOKEN", "HTTPS_PROXY", "https_proxy", "LLM_MODEL"], "x"
    )
    assert _run_pytest(tmp_path, code, **keys).returncode == 0


@pytest.mark.parametrize("scope", ["session", "module"])
def test_what_tests_share_sees_no_key_and_no_home_of_a_person(tmp_path, scope):
    code = (
        "import os, pytest\n"
        f"@pytest.fixture(scope={scope!r})\n"
        "def shared(): return dict(os.environ)\n"
        "def test_it(shared, tmp_path_factory):\n"
        "    home = shared['NOTEBOOK_AGENTS_HOME']\n"
        "    assert home.startswith(str(tmp_path_factory.getbasetemp()))\n"
        "    assert not {'OPENAI_API_KEY', 'HTTPS_PROXY'} & set(shared)\n"
    )
    person = dict.fromkeys(
        ["OPENAI_API_KEY", "HTTPS_PROXY", "NOTEBOOK_AGENTS_HOME"], "x"
    )
    done = _run_pytest(tmp_path, code, **person)
    assert done.returncode == 0, done.stdout


async def test_async_tests_run_on_asyncio(anyio_backend_name):
    assert anyio_backend_name == "asyncio"
