"""What model calls cost, by the price list of ``genai-prices`` (extra ``cost``).

Nothing here guesses: what is not known is None.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["ModelCall", "cost_of"]

logger = logging.getLogger(__name__)

PRICES = "genai_prices"
LOOK_UP_SECONDS = 5.0
"""How long it is remembered whether the list is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One model call, as far as its price depends on it.

    Parameters
    ----------
    model : str
        The model, as its service spells it.
    url : str
        Where the service is, since the same model costs something else
        elsewhere; empty where there is none.
    prompt_tokens, completion_tokens : int
        Tokens read and written, cached and reasoning ones included.
    cached_tokens, cache_write_tokens : int
        Of the tokens read, those that came from the cache of the service and
        those that were put there.
    charged : float or None
        US dollars that the service itself says it charged.
    """

    model: str
    url: str = field(default="", repr=False)  # a key may stand in it
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    charged: float | None = None


async def cost_of(calls: Sequence[ModelCall]) -> float | None:
    """Add up what some model calls cost.

    Parameters
    ----------
    calls : sequence of ModelCall
        The calls of a run.

    Returns
    -------
    float or None
        US dollars; None where there was no call, or the price of one is not
        known: the model is not in the list, the list is not installed, the
        service did not count its tokens, or the model is on this machine.

    Examples
    --------
    >>> asyncio.run(cost_of([ModelCall(model="m", charged=0.25)] * 2))
    0.5
    """
    if not calls or not all(map(_may_be_known, calls)):
        return None
    if f"{PRICES}.data" in sys.modules or all(c.charged is not None for c in calls):
        return _total(calls)
    if not _is_installed(int(time.monotonic() / LOOK_UP_SECONDS)):
        return None
    return await asyncio.to_thread(_total, calls)  # loading the list takes a while


@functools.lru_cache(maxsize=1)
def _is_installed(period: int) -> bool:
    """Tell whether the list is there; looking costs a twentieth of a short run."""
    import importlib.util

    del period  # the next one looks again: it may be installed from a cell
    return importlib.util.find_spec(PRICES) is not None


def _may_be_known(call: ModelCall) -> bool:
    is_paid_for = call.url.startswith("https://") and bool(call.model)
    is_counted = call.prompt_tokens > 0 or call.completion_tokens > 0
    return call.charged is not None or (is_paid_for and is_counted)


def _total(calls: Sequence[ModelCall]) -> float | None:
    total = 0.0
    for call in calls:
        cost = _price(call) if call.charged is None else call.charged
        if cost is None:
            return None
        total += cost
    return total


def _price(call: ModelCall) -> float | None:
    try:
        prices = importlib.import_module(PRICES)
        usage = prices.Usage(
            input_tokens=call.prompt_tokens,
            output_tokens=call.completion_tokens,
            cache_read_tokens=call.cached_tokens,
            cache_write_tokens=call.cache_write_tokens,
        )
        found = prices.calc_price(usage, call.model, provider_api_url=call.url)
        return float(found.total_price)
    except LookupError:  # not in the list
        return None
    except Exception:
        logger.exception("the price of a model call could not be looked up")
        return None
