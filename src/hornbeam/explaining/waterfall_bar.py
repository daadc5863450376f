"""A step of a waterfall as a small SVG, for every page that shows one.

Colours stand in the picture itself, for notebooks; a page's style sheet may change them by class.
One blue is for and one orange against, which people tell apart who do not see red and green.
"""

from __future__ import annotations

from markupsafe import Markup

from hornbeam.explaining.waterfall import Waterfall, WaterfallStep

#: The colour of each side, on a light ground.
COLOURS = {"for": "#1f5fa8", "against": "#a8500f", "neutral": "#55615b"}
#: Size of a bar in its own units; pages stretch it.
WIDE, HIGH = 100.0, 12.0


def waterfall_bar(step: WaterfallStep, fall: Waterfall) -> Markup:
    """Draw where a step goes from and to; the upright line stands at log-odds of 0, a half."""
    low, high = fall.span
    # what is divided by less would be infinite
    scale = (WIDE - 2) / (high - low) if high - low > 1e-300 else 0.0
    first, last = sorted(1 + (end - low) * scale for end in (step.before, step.after))
    zero = 1 - low * scale
    return Markup(
        f'<svg class="waterfall-bar" viewBox="0 0 {WIDE:g} {HIGH:g}" preserveAspectRatio="none" '
        'width="160" height="12" aria-hidden="true" focusable="false">'
        f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="12" stroke="#9aa39e" '
        'vector-effect="non-scaling-stroke"/>'
        f'<rect class="{step.side}" fill="{COLOURS[step.side]}" x="{first:.2f}" y="1" '
        f'width="{max(last - first, 0.6):.2f}" height="10"/></svg>'
    )
