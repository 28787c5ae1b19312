"""How the pages are built: Sphinx, MyST notebooks, NumPy docstrings, furo."""

import shutil
from pathlib import Path

from notebook_agents import __version__

HERE = Path(__file__).parent

# The notebooks live at the top, where a visitor looks; the pages need them here.
shutil.rmtree(HERE / "notebooks", ignore_errors=True)
shutil.copytree(
    HERE.parent / "notebooks",
    HERE / "notebooks",
    ignore=shutil.ignore_patterns(".*", "__pycache__"),
)

project = "notebook_agents"
author = "notebook_agents contributors"
copyright = author
version = release = __version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "snippets", "**/.ipynb_checkpoints", ".jupyter_cache"]
html_theme = "furo"
html_title = f"notebook_agents {version}"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings tell the types, in words
numpydoc_show_class_members = False
