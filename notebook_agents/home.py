"""Where this package keeps what has to outlive the process, for one user alone."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["home_folder", "make_private_folder"]

PRIVATE = 0o700


def home_folder() -> Path:
    """Name the folder of everything durable; it need not exist.

    Returns
    -------
    Path
        ``NOTEBOOK_AGENTS_HOME`` if that variable is set, else the user's data
        folder for this package.

    Examples
    --------
    >>> import os
    >>> os.environ["NOTEBOOK_AGENTS_HOME"] = "kept"
    >>> home_folder().name
    'kept'
    """
    chosen = os.environ.get("NOTEBOOK_AGENTS_HOME", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return platformdirs.user_data_path("notebook-agents", appauthor=False)


def make_private_folder(folder: Path) -> Path:
    """Make a folder that only its owner can enter, unless it is there.

    Parameters
    ----------
    folder : Path
        Its parents are made if need be. A folder that exists keeps its mode:
        whoever made it may have opened it on purpose.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=PRIVATE, exist_ok=True)
    return folder
