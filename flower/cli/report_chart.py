"""Context and cost, turn by turn, as a drawing inside the page."""

from __future__ import annotations

import html
from collections.abc import Sequence

from flower.cli.phrases import dollars, tokens
from flower.inspect.turns import Turn
from flower.locale import _

CHART_STYLE = """
svg { width: 100%; height: 9rem; background: #8881; } svg rect { fill: var(--work); opacity: .55; }
svg rect.agent { fill: var(--judge); } svg polyline { fill: none; stroke: var(--bad); stroke-width: 2; }
figure { margin: .5rem 0; } figcaption { font-size: .85em; opacity: .8; }
"""

WIDTH, HEIGHT = 1000, 120
WIDEST_BAR = 40
MOST_BARS = 1000
"""Above this neighbours share a bar: more would be thinner than a pixel, and a page of many megabytes."""


def turns_chart(turns: Sequence[Turn]) -> str:
    """Bars for the context of each turn (a subagent's turn is a short mark), a line for what it all has cost so far."""
    bars = _shared(turns)
    step = min(WIDTH / len(bars), WIDEST_BAR)
    highest = max(max(bar.context for bar in bars), 1)
    total = sum(bar.cost_usd for bar in bars) or 1.0
    drawn, line, spent = [], [], 0.0
    for n, bar in enumerate(bars):
        tall = max(2.0, bar.context / highest * HEIGHT)
        kind = ' class="agent"' if bar.agent else ""
        spent += bar.cost_usd
        drawn.append(
            f'<rect{kind} x="{n * step:.1f}" y="{HEIGHT - tall:.1f}" width="{max(step - 0.5, 0.5):.1f}"'
            f' height="{tall:.1f}"><title>{_tip(n, bar, spent)}</title></rect>'
        )
        line.append(f"{(n + 0.5) * step:.1f},{HEIGHT - spent / total * HEIGHT:.1f}")
    caption = _(
        "bars: context of each turn, at most {context}; line: cost so far, {cost} by list price"
    ).format(context=tokens(highest), cost=dollars(spent))
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img">'
        f'{"".join(drawn)}<polyline points="{" ".join(line)}" vector-effect="non-scaling-stroke"/></svg>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>\n"
    )


def _tip(n: int, bar: Turn, spent: float) -> str:
    facts = [f"{n + 1}", dollars(bar.cost_usd), _("{cost} so far").format(cost=dollars(spent))]
    if bar.context:
        facts.insert(1, _("context {size}").format(size=tokens(bar.context)))
    if bar.agent:
        facts.append(_("subagent {id}").format(id=bar.agent))
    if bar.tools:
        facts.append(", ".join(bar.tools))
    return html.escape(" | ".join(facts))


def _shared(turns: Sequence[Turn]) -> list[Turn]:
    """At most ``MOST_BARS`` bars: neighbours joined, their costs added, the larger context kept."""
    share = -(-len(turns) // MOST_BARS)
    groups = [turns[at : at + share] for at in range(0, len(turns), share)]
    return [
        group[0]._replace(
            context=max(turn.context for turn in group),
            cost_usd=sum(turn.cost_usd for turn in group),
            agent=group[0].agent if all(turn.agent for turn in group) else "",
            tools=tuple(dict.fromkeys(tool for turn in group for tool in turn.tools)),
        )
        for group in groups
    ]
