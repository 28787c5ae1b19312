"""What the model reads of a table: its shape and a little of it, never all."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from notebook_agents.tools.observation import text_of
from notebook_agents.tools.variables import Variables


def told(value, variables=None):
    kept = variables or Variables()
    return text_of(value, lambda part: kept.keep(part, tuple))


def test_a_large_table_is_told_by_shape_types_top_and_statistics():
    frame = pd.DataFrame(
        {"region": ["north", "south"] * 50, "revenue": np.arange(100.0)}
    )
    text = told(frame)
    lines = text.split("\n")
    assert lines[0] == (
        'DataFrame, 100 rows × 2 columns, kept as "df_1" for later calls.'
    )
    assert lines[1].startswith("Columns: region (")
    assert lines[1].endswith("revenue (float64)")
    assert "First 5 rows:\n" in text
    assert "Statistics:\n" in text
    assert "mean" in text
    assert "49.5" in text
    assert "north      4.0" in text
    assert " 5.0" not in text


def test_a_small_table_is_told_whole():
    text = told(pd.DataFrame({"a": range(30)}))
    assert "All rows:" in text
    assert "29" in text
    assert "Statistics" not in text


def test_a_wide_table_is_cut():
    text = told(pd.DataFrame(np.zeros((3, 10_000))))
    assert "3 rows × 10,000 columns" in text
    assert "and 9,970 more" in text
    assert "All rows (10 columns):" in text
    assert len(text) < 3000


def test_a_table_of_long_texts_is_cut():
    text = told(pd.DataFrame({"text": ["word " * 10_000] * 100}))
    assert len(text) < 3000


def test_a_huge_table_is_not_counted_through():
    text = told(pd.DataFrame({"a": np.zeros(1_000_001)}))
    assert "1,000,001 rows" in text
    assert "Statistics" not in text


def test_odd_tables_are_told_too():
    for frame in (
        pd.DataFrame(),
        pd.DataFrame({"a": []}),
        pd.DataFrame(index=[1, 2]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({("a", "b"): [1]}),
        pd.DataFrame({"a": [{"x": 1}, [2]] * 40}),
        pd.DataFrame({"a": pd.date_range("2025-01-01", periods=50, tz="UTC")}),
        pd.DataFrame({"a": pd.Categorical(["x"] * 50)}),
        pd.DataFrame({"a": [np.inf, np.nan] * 50}),
    ):
        assert told(frame).startswith("DataFrame, ")


def test_a_table_that_cannot_be_written_is_named_at_least():
    class Rude:
        def __repr__(self):
            raise ZeroDivisionError

        __str__ = __repr__

    text = told(pd.DataFrame({"a": [Rude()] * 3}))
    assert text.startswith('DataFrame, 3 rows × 1 columns, kept as "df_1"')


def test_series_and_arrays_are_told():
    text = told(pd.Series(np.arange(100.0), name="revenue"))
    assert text.startswith('Series, 100 values, kept as "series_1" for later calls.')
    assert "Name: revenue, dtype: float64" in text
    assert "mean" in text
    text = told(np.arange(100.0).reshape(10, 10))
    assert text.startswith("ndarray of shape (10, 10), kept as")
    assert "min 0, mean 49.5, max 99" in text
    assert "min" not in told(np.array(["a", "b"] * 50))
    assert told(np.array([])).startswith("ndarray of shape (0,)")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"),
        (np.float64(1.5), "1.5"),
        (np.bool_(1), "true"),
        (pd.NA, "Done; the tool returned nothing."),
        (pd.NaT, "Done; the tool returned nothing."),
        ({"n": np.int64(3), "missing": pd.NA}, '{"n":3,"missing":null}'),
        ([np.float32(0.5)], "[0.5]"),
        (pd.Timestamp("2025-01-02"), '"2025-01-02T00:00:00"'),
    ],
)
def test_a_scalar_is_a_number_and_no_object(value, text):
    assert told(value) == text
    assert text_of(value) == text


def test_objects_within_a_value_are_named_in_place():
    variables = Variables()
    frame = pd.DataFrame({"a": [1]})
    text = told({"best": frame, "all": [frame, np.arange(2)]}, variables)
    assert json.loads(text) == {
        "best": "df_1 (DataFrame, 1 rows × 1 columns)",
        "all": [
            "df_1 (DataFrame, 1 rows × 1 columns)",
            "array_1 (ndarray of shape (2,))",
        ],
    }


def test_only_so_many_objects_of_one_value_are_kept():
    variables = Variables()
    told([np.arange(2) for _ in range(100)], variables)
    assert len(variables._handles.items()) == 10


def test_what_a_proxy_says_of_its_shape_is_not_believed():
    class Anything:
        def __getattr__(self, name):
            return lambda *_, **__: 5

        def __repr__(self):
            return "<anything>"

    assert "<anything>" in told(Anything())
