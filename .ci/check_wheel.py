"""Install a wheel outside the checkout, with no extra, and use it there.

Fails if the wheel holds more than the package, if the core brings more
packages than it may, or if the installed package cannot answer.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

MOST_PACKAGES = 16

USE = """
import notebook_agents
from notebook_agents import Agent, ScriptedProvider

result = Agent(ScriptedProvider(["Hello from the wheel."])).run_sync("Hi")
print(notebook_agents.__version__, "-", result.answer)
"""


def main(wheel: Path) -> None:
    """Check one wheel file.

    Parameters
    ----------
    wheel : Path
        The ``.whl`` file.
    """
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    strangers = {
        top for top in tops - {"notebook_agents"} if not top.endswith(".dist-info")
    }
    if strangers:
        sys.exit(f"{wheel.name} holds more than the package: {sorted(strangers)}")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin")
        python = str(scripts / "python")

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [python, "-I", *arguments],
                cwd=folder,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            return done.stdout

        run("-m", "pip", "install", "--quiet", str(wheel.resolve()))
        rows = run("-m", "pip", "list", "--format=freeze").split()
        packages = [
            row for row in rows if row.split("==")[0] not in {"pip", "setuptools"}
        ]
        if len(packages) > MOST_PACKAGES:
            sys.exit(f"the core brings {len(packages)} packages: {packages}")
        print(f"{wheel.name}: {len(packages)} packages with no extra")
        print(run("-W", "error", "-c", USE).strip())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
