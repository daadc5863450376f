"""A step of a waterfall as a small SVG, for every page that shows one.

Colours are in the SVG itself, for notebooks; a page's style sheet may change them by class. Blue is
for and orange against, which are distinct without seeing red and green.
"""

from __future__ import annotations

from markupsafe import Markup

from hornbeam.explaining.waterfall import Waterfall, WaterfallStep

#: The colour of each side, on a light background.
COLOURS = {"for": "#1f5fa8", "against": "#a8500f", "neutral": "#55615b"}
#: Size of a bar in its own units; pages stretch it.
WIDE, HIGH = 100.0, 12.0


def waterfall_bar(step: WaterfallStep, fall: Waterfall) -> Markup:
    """Draw the start and the end of a step; the vertical line is at log-odds 0, a score of 0.5."""
    ends = sorted((step.before, step.after))
    first, last, zero = (1 + (WIDE - 2) * fall.place(one) for one in (*ends, 0.0))
    return Markup(
        f'<svg class="waterfall-bar" viewBox="0 0 {WIDE:g} {HIGH:g}" preserveAspectRatio="none" '
        'width="160" height="12" aria-hidden="true" focusable="false">'
        f'<line class="zero" x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="12" stroke="#9aa39e" '
        'vector-effect="non-scaling-stroke"/>'
        f'<rect class="{step.side}" fill="{COLOURS[step.side]}" x="{first:.2f}" y="1" '
        f'width="{max(last - first, 0.6):.2f}" height="10"/></svg>'
    )
