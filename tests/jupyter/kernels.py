"""Other kernels than the newest, each in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What Colab pins, the last of the 6 series that many still run, and the last
# one before 7.4 changed who hears a click.
KERNELS = {
    "ipykernel-6.17.1": ["ipykernel==6.17.1", "ipython==7.34.0"],
    "ipykernel-6.29.5": ["ipykernel==6.29.5", "ipython<9"],
    "ipykernel-7.3.0": ["ipykernel==7.3.0"],
}
NEEDED = [
    "anywidget>=0.9.18",
    "docstring-parser",
    "httpx",
    "ipywidgets>=8.1",
    "platformdirs",
    "pydantic>=2.12",
    "python-dotenv",
    "setuptools<81",  # IPython 7.34 still asks it for pkg_resources
    "sniffio",
]


def install_kernel(name: str, folder: Path) -> None:
    """Make an environment with one kernel, and tell Jupyter of it.

    Parameters
    ----------
    name : str
        One of `KERNELS`.
    folder : Path
        Where environments and kernel specifications go.
    """
    place = folder / "kernels" / name
    if (place / "kernel.json").is_file():
        return
    environment = folder / "environments" / name
    _run(sys.executable, "-m", "venv", str(environment))
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    _run(*pip, "--upgrade", "pip>=25.1")
    _run(*pip, *KERNELS[name], *NEEDED)
    _run(*pip, "--no-deps", "--editable", str(ROOT))
    place.mkdir(parents=True)
    command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": name, "language": "python"}
    (place / "kernel.json").write_text(json.dumps(spec))


def _run(*command: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
