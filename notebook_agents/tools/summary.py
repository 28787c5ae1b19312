"""What a model is told of an object that JSON cannot carry: its shape, not its data.

pandas and numpy are recognised where they have been loaded, and never imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["is_data", "one_line", "plain", "repr_of", "summarise"]

MOST_COLUMNS = 30
"""Columns that are named."""
SHOWN_COLUMNS = 10
"""Columns of which values are shown."""
SHOWN_ROWS = 5
"""Rows at the top that are shown."""
SMALL_ROWS = 30
"""Rows of a table that is shown whole."""
MOST_CELLS = 1_000_000
"""Values that are counted and averaged; more would take too long."""
LONGEST_CELL = 40
"""Characters of a value in a table."""
LONGEST_PART = 3000
"""Characters of each part of a summary."""


def plain(value: Any) -> Any:
    """Give the plain value that a scalar of numpy or pandas stands for.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    object
        A number, a text, None for what is missing; else the value itself.
    """
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if pandas is not None and (value is pandas.NA or value is pandas.NaT):
        return None
    return value


def is_data(value: object) -> bool:
    """Tell whether an object is a table or an array, of whatever package."""
    kind = type(value)
    names = ("dtype", "dtypes", "schema")
    return hasattr(kind, "shape") and any(hasattr(kind, name) for name in names)


def repr_of(value: object) -> str:
    """Give the ``repr`` of an object, whatever that does."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - a broken repr must not break the run
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def one_line(value: Any, name: str) -> str:
    """Say in a few words what an object is, and how to name it.

    Parameters
    ----------
    value : object
        The object, a part of a larger result.
    name : str
        What later calls can name it by.

    Returns
    -------
    str
        Such as ``df_1 (DataFrame, 3 rows × 2 columns)``.
    """
    return f"{name} ({_title(value)})"


def summarise(value: Any, name: str | None) -> str:
    """Describe an object to a model.

    Parameters
    ----------
    value : object
        What a tool returned.
    name : str or None
        What later calls can name it by, if it is kept.

    Returns
    -------
    str
        What it is, and some of what is in it; the ``repr`` of what is not kept.
    """
    if name is None:
        return repr_of(value)
    head = f'{_title(value)}, kept as "{name}" for later calls.'
    return "\n".join([head, *_details(value)])


def _title(value: Any) -> str:
    kind = type(value).__name__
    try:
        shape = tuple(int(length) for length in value.shape)
    except Exception:  # noqa: BLE001 - most objects have no shape
        return kind
    if len(shape) == 2 and hasattr(value, "columns"):  # noqa: PLR2004 - rows and columns
        return f"{kind}, {shape[0]:,} rows × {shape[1]:,} columns"
    if len(shape) == 1 and not isinstance(value, _class("numpy", "ndarray")):
        return f"{kind}, {shape[0]:,} values"
    return f"{kind} of shape {shape}"


def _details(value: Any) -> Iterator[str]:
    if isinstance(value, _class("pandas", "DataFrame")):
        parts = _table_parts(value)
    elif isinstance(value, _class("pandas", "Series")):
        parts = _series_parts(value)
    elif isinstance(value, _class("numpy", "ndarray")):
        parts = _array_parts(value)
    else:
        parts = [("", lambda: repr_of(value))]
    for title, write in parts:
        text = _written(write)
        if text:
            yield f"{title}\n{text}" if title else text


def _written(write: Callable[[], str]) -> str:
    try:
        text = write()
    except Exception:  # noqa: BLE001 - what is in it is the user's, and may do anything
        return ""
    if len(text) <= LONGEST_PART:
        return text
    return f"{text[:LONGEST_PART]}…"


Parts = list[tuple[str, Callable[[], str]]]


def _table_parts(frame: Any) -> Parts:
    rows, columns = frame.shape
    shown = frame.iloc[:, :SHOWN_COLUMNS]
    is_small = rows <= SMALL_ROWS
    rest = "" if columns <= SHOWN_COLUMNS else f" ({SHOWN_COLUMNS} columns)"
    top = "All rows" if is_small else f"First {SHOWN_ROWS} rows"
    parts: Parts = [
        ("", lambda: f"Columns: {_columns(frame)}"),
        (
            f"{top}{rest}:",
            lambda: _text_of(shown.head(SMALL_ROWS if is_small else SHOWN_ROWS)),
        ),
    ]
    if not is_small and shown.size <= MOST_CELLS:
        parts.append(("Statistics:", lambda: _text_of(shown.describe())))
    return parts if rows and columns else parts[:1]


def _text_of(frame: Any, *, header: bool = True) -> str:
    return str(frame.to_string(header=header, max_colwidth=LONGEST_CELL))


def _columns(frame: Any) -> str:
    names = [
        f"{name!s:.40} ({kind})"
        for name, kind in zip(
            frame.columns[:MOST_COLUMNS], frame.dtypes[:MOST_COLUMNS], strict=True
        )
    ]
    rest = frame.shape[1] - MOST_COLUMNS
    return ", ".join(names) + (f" and {rest:,} more" if rest > 0 else "")


def _series_parts(series: Any) -> Parts:
    is_small = len(series) <= SMALL_ROWS
    top = series.head(SMALL_ROWS if is_small else SHOWN_ROWS)
    parts: Parts = [
        ("", lambda: f"Name: {series.name!s:.40}, dtype: {series.dtype}"),
        (
            "All values:" if is_small else f"First {SHOWN_ROWS} values:",
            lambda: _text_of(top.to_frame(), header=False),
        ),
    ]
    if not is_small and len(series) <= MOST_CELLS:
        numbers = ("Statistics:", lambda: _text_of(series.describe().to_frame()))
        parts.append(numbers)
    return parts


def _array_parts(array: Any) -> Parts:
    numpy = sys.modules["numpy"]
    parts: Parts = [
        ("", lambda: f"dtype: {array.dtype}"),
        ("", lambda: numpy.array2string(array, threshold=20, edgeitems=3)),
    ]
    if array.dtype.kind in "iuf" and SMALL_ROWS < array.size <= MOST_CELLS:
        parts.append(
            (
                "",
                lambda: (
                    f"min {array.min():g}, mean {array.mean():g}, max {array.max():g}"
                ),
            )
        )
    return parts


def _class(package: str, name: str) -> Any:
    """Give a class of a package that is loaded; no class else."""
    return getattr(sys.modules.get(package), name, ())
