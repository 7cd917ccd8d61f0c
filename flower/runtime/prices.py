"""What tokens cost, for what has no bill yet: a request in flight, a step that was killed.

The bill is the CLI's cost counter, which arrives with a result. Until then a step's cost is estimated with these.
They are the prices that counter used (CLI 2.1.332, measured: one scripted request a token kind, the counter divided by
the tokens), in US dollars per million tokens; cache writes are the five-minute ones. A model that is not listed costs
what the CLI takes for an unknown one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MILLION = 1_000_000

CHARS_PER_TOKEN = 3
"""Few, so that an estimate is rather too high: a budget that ends a little early is kept."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens: what is read, written, read from the cache and written to it."""

    input: float
    output: float
    cache_read: float
    cache_write: float


UNKNOWN_MODEL = Price(4, 20, 0.2, 5)

PRICES = {
    "claude-opus-5-5": Price(4, 20, 0.2, 5),
    "claude-opus-5": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-8": Price(5, 25, 0.5, 6.25),
    "claude-opus-4-5": Price(5, 25, 0.5, 6.25),
    "claude-sonnet-5-5": Price(2, 10, 0.1, 2.5),
    "claude-sonnet-5": Price(2, 10, 0.2, 2.5),
    "claude-sonnet-4-6": Price(3, 15, 0.3, 3.75),
    "claude-sonnet-4-5": Price(3, 15, 0.3, 3.75),
    "claude-haiku-4-5": Price(1, 5, 0.1, 1.25),
    "claude-fable-5-2": Price(8, 40, 0.2, 10),
}
"""By the beginning of a model's name; the longest match counts."""


def price_of(model: str) -> Price:
    """The prices of a model, named with or without a date, a provider's prefix and ``[1m]``."""
    name = model.rpartition("/")[2].rpartition("anthropic.")[2].lower()
    known = [prefix for prefix in PRICES if name.startswith(prefix)]
    return PRICES[max(known, key=len)] if known else UNKNOWN_MODEL


def cost_of(usage: Mapping[str, Any] | None, model: str, *, characters: int = 0) -> float:
    """US dollars for one request.

    Args:
        usage: the API's counts. While an answer is streamed its ``output_tokens`` are those of the first moment.
        characters: length of what the model has written, for the output that ``usage`` does not count yet.
    """
    counts, price = usage or {}, price_of(model)

    def tokens(name: str) -> int:
        return int(counts.get(name) or 0)

    output = max(tokens("output_tokens"), characters // CHARS_PER_TOKEN)
    return (
        tokens("input_tokens") * price.input
        + output * price.output
        + tokens("cache_read_input_tokens") * price.cache_read
        + tokens("cache_creation_input_tokens") * price.cache_write
    ) / MILLION
