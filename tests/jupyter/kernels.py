"""Other kernels than the newest, each in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]

NEWEST = "python3"
# What Colab pins, the last of the 6 series that many still run, and the last
# one before 7.4 changed who hears a click.
OLDER = {
    "ipykernel-6.17.1": ["ipykernel==6.17.1", "ipython==7.34.0"],
    "ipykernel-6.29.5": ["ipykernel==6.29.5", "ipython<9"],
    "ipykernel-7.3.0": ["ipykernel==7.3.0"],
}
NEEDED = [
    "anywidget>=0.9.18",
    "docstring-parser",
    "fastapi",
    "httpx",
    "ipywidgets>=8.1",
    "nest-asyncio==1.6.0",
    "nest-asyncio2>=1.7",
    "platformdirs",
    "pydantic>=2.12",
    "python-dotenv",
    "setuptools<81",  # IPython 7.34 still asks it for pkg_resources
    "sniffio",
    "uvicorn",
]


def install_older_kernels(folder: Path) -> None:
    """Make an environment for each older kernel, and tell Jupyter of it.

    Parameters
    ----------
    folder : Path
        Where environments and kernel specifications go.
    """
    with ThreadPoolExecutor() as pool:  # mostly they wait for the network
        list(pool.map(lambda name: _install(name, folder), OLDER))


def _install(name: str, folder: Path) -> None:
    environment = folder / "environments" / name
    _run("-m", "venv", "--without-pip", str(environment))
    python = str(environment / "bin" / "python")
    install = ["-m", "pip", "--python", python, "install", "--quiet"]
    _run(*install, *OLDER[name], *NEEDED)
    _run(*install, "--no-deps", "--editable", str(ROOT))
    command = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": name, "language": "python"}
    place = folder / "kernels" / name
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps(spec))


def _run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-2000:]
