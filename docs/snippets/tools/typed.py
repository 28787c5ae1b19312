from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

from notebook_agents import Agent, ScriptedProvider, call, tool


class Region(Enum):
    """Where the shops are."""

    NORTH = "north"
    SOUTH = "south"


@dataclass
class Period:
    """From one day to another, both included."""

    first: date
    last: date


@tool
def export_sales(
    region: Region,
    period: Period,
    folder: Path,
    columns: Annotated[list[str], "Which columns, in this order"],
    form: Literal["csv", "parquet"] = "csv",
) -> str:
    """Export the sales of a region to a file.

    Parameters
    ----------
    region : Region
        Which shops.
    folder : Path
        Where the file goes.

    Returns
    -------
    str
        Its path.
    """
    assert region is Region.NORTH  # not the text "north"
    assert period.last == date(2025, 3, 31)
    return str(folder / f"{region.value}.{form}")


model = ScriptedProvider(
    [
        call(
            "export_sales",
            region="north",
            period={"first": "2025-01-01", "last": "2025-03-31"},
            folder="reports",
            columns=["shop", "revenue"],
            form=None,  # the strict form of a schema: null is the default
        ),
        "Exported.",
    ]
)
result = Agent(model, [export_sales]).run_sync("Export the first quarter of the north.")
assert Path(result.tool_calls[0]["content"]) == Path("reports/north.csv")
