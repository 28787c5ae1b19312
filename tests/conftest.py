"""What holds for every test.

No network but the loopback, no key and no folder of the person who runs them,
asyncio only, and no silent skip where nothing may be skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from notebook_agents.testing import no_network

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

NO_SKIP = bool(os.environ.get("NOTEBOOK_AGENTS_NO_SKIP"))

# A busy machine is no fault. What decides whether a change lands looks at the same
# examples each time; whoever runs the tests by hand sees other ones each day.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=NO_SKIP,
)
settings.load_profile("patient")

# Settings of this package, keys of any service, and proxies (which sit on the
# loopback and lead out of it).
PRIVATE = re.compile(
    r"NOTEBOOK_AGENTS_|LLM_|EMBED_MODEL$|DEFAULT_PROVIDER$|CA_BUNDLE_PATH$|MEMORY_PATH$"
    r"|HUGGINGFACE_BASE_URL$|OLLAMA_HOST$|.*_API_KEY$|HF_TOKEN$"
    r"|(HTTP|HTTPS|ALL|WS|WSS)_PROXY$",
    re.IGNORECASE,
)
LOCAL_MODEL = {"NOTEBOOK_AGENTS_LOCAL_MODEL"}


# ------------------------------------------------------------- what may not be


@pytest.fixture(scope="session", autouse=True)
def _loopback_only() -> Iterator[list[str]]:
    """Refuse to look up or to connect to anything but this machine."""
    with no_network() as refused:
        yield refused


@pytest.fixture(autouse=True)
def refused_connections(_loopback_only: list[str]) -> Iterator[list[str]]:
    """List the refused targets; a test that leaves any in it fails.

    The code under test may swallow the refusal, so raising is not enough.
    """
    yield _loopback_only
    refused = list(_loopback_only)
    _loopback_only.clear()
    assert not refused, f"this test tried to reach {refused}"


def _settle(patch: pytest.MonkeyPatch, folder: Path, *, kept: Collection[str]) -> None:
    """Use a folder as home, and forget keys and settings."""
    for name in [n for n in os.environ if PRIVATE.match(n) and n not in kept]:
        patch.delenv(name)
    patch.setenv("NOTEBOOK_AGENTS_HOME", str(folder / "data"))
    patch.setenv("IPYTHONDIR", str(folder / "ipython"))
    patch.setenv("JUPYTER_PLATFORM_DIRS", "1")  # the other choice warns


@pytest.fixture(scope="session", autouse=True)
def _home_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settle what is made once for all tests, such as JupyterLab."""
    with pytest.MonkeyPatch.context() as patch:
        _settle(patch, tmp_path_factory.mktemp("home"), kept=LOCAL_MODEL)
        yield


@pytest.fixture(scope="module", autouse=True)
def _home_of_the_module(
    _home_of_the_session: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Settle what tests of a module share: their kernels begin before any of them."""
    with pytest.MonkeyPatch.context() as patch:
        _settle(patch, tmp_path_factory.mktemp("home"), kept=LOCAL_MODEL)
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of all homes."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def home(
    request: pytest.FixtureRequest, homes: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Give each test a home of its own and an environment without keys."""
    # Not by pytest, which reads all earlier names to find the next number.
    folder = Path(tempfile.mkdtemp(dir=homes))
    asks_it = request.node.get_closest_marker("local_model")
    _settle(monkeypatch, folder, kept=LOCAL_MODEL if asks_it else ())
    return folder


# ------------------------------------------------------------------ what helps


@pytest.fixture
def anyio_backend() -> str:
    """Run async tests on asyncio; without this they would run on trio again."""
    return "asyncio"


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Give a function that waits in this thread until something is true."""

    def wait(predicate: Callable[[], object], timeout: float = 5) -> None:
        pause = threading.Event()
        end = time.monotonic() + timeout
        while not predicate():
            if time.monotonic() > end:
                pytest.fail(f"not true within {timeout} s: {predicate}")
            pause.wait(0.01)

    return wait


def find_chromium() -> str | None:
    """Find an installed Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Give the path of the installed browser, for tests marked ``browser``."""
    return find_chromium() or pytest.skip("no Chromium is installed")


@pytest.fixture(scope="session")
def weights() -> Path:
    """Fetch the embedded model as a user would, into the cache that is kept."""
    from notebook_agents.providers.local.pull import pull_weights
    from notebook_agents.providers.local.weights import DEFAULT_MODEL, known_weights

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NOTEBOOK_AGENTS_HOME", raising=False)
        try:
            return pull_weights(known_weights(DEFAULT_MODEL))[0]
        except ValueError as error:
            pytest.skip(f"the weights of the local model cannot be had: {error}")


# ------------------------------------------------------------------- the skips


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what needs a browser last, and skip it where there is none.

    Playwright's loop runs in this thread for as long as the browser is open,
    and no other loop could run beside it.
    """
    for item in items:
        if item.get_closest_marker("local_model"):  # which needs the processor alone
            item.add_marker(pytest.mark.timeout(240))
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    if find_chromium():
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="no Chromium is installed"))


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"nothing may be skipped here: {_reason(report)}"


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    return (where[2] if isinstance(where, tuple) else str(where)).removeprefix(
        "Skipped: "
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Turn a skip into a failure where nothing may be skipped."""
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """Do the same for a module that skips itself."""
    report = yield
    _forbid_skip(report)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say in one line for each reason what was skipped."""
    skipped = terminalreporter.stats.get("skipped", [])
    for reason, count in Counter(map(_reason, skipped)).items():
        terminalreporter.write_line(f"skipped {count}: {reason}", yellow=True)
