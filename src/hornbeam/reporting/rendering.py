"""Rendering of reports: templates, and filters for names, rules and numbers.

Jinja2 escapes everything that comes from the data. A page needs no network. Its content security
policy enforces that: it allows only one style sheet and one script, by hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from hornbeam.base.texts import elided, printable
from hornbeam.explaining.reason import Grounding
from hornbeam.explaining.waterfall import step_words, waterfall_bar
from hornbeam.rules.rule_words import PhraseRole, Words

#: Maximum number of characters of a name, and of a rule.
NAME, RULE = 80, 500


@cache
def environment() -> Environment:
    """The templates of reports, with the filters of this module."""
    made = templates_of("hornbeam.reporting")
    made.filters |= {
        "named": named,
        "elided_rule": elided_rule,
        "percent": percent,
        "words_html": words_html,
        "signed": signed,
        "steps": path_steps,
        "log_odds_text": log_odds_text,
        "step_words": step_words,
        "waterfall_bar": waterfall_bar,
    }
    return made


def templates_of(package: str) -> Environment:
    """The templates of a package; every value is escaped, and an undefined one raises an error."""
    return Environment(
        loader=FunctionLoader(lambda name: template_text(package, name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def template_text(package: str, name: str) -> str:
    """Text of a template or style sheet."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


def page_of(name: str, **values: object) -> str:
    """Render a page with its style sheet and its script.

    The browser loads no other file and runs no other script: the policy allows both by hash.
    """
    sources = ("report.css", "report.js")
    style, script = (template_text("hornbeam.reporting", source) for source in sources)
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = environment().get_template(name)
    return str(page.render(style=Markup(style), script=Markup(script), policy=policy, **values))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def named(name: str) -> Markup:
    """A name from the data as HTML: escaped, its text direction isolated, elided if too long.

    Examples
    --------
    >>> print(named("<b>"))
    <bdi>&lt;b&gt;</bdi>
    """
    text = printable(name)
    if len(text) <= NAME:
        return Markup(f"<bdi>{escape(text)}</bdi>")
    return Markup('<bdi title="{}">{}</bdi>').format(text[:500], elided(text, NAME))


def elided_rule(rule: str) -> str:
    """The text of a rule, elided if too long: its constants are names from the data."""
    text = printable(rule)
    return text if len(text) <= RULE else f"{text[: RULE // 2]} … {text[-RULE // 2 :]}"


def words_html(words: Words) -> Markup:
    """HTML of a sentence about a rule, with markup for variables and names from the data.

    Examples
    --------
    >>> from hornbeam.rules.rule_words import Phrase
    >>> print(words_html((Phrase("A", PhraseRole.VARIABLE), Phrase(" < "), Phrase("B"))))
    <var>A</var> &lt; B
    """
    forms = {
        PhraseRole.WORDS: "{}",
        PhraseRole.VARIABLE: "<var>{}</var>",
        PhraseRole.PREDICATE: "<b>{}</b>",
        PhraseRole.ENTITY: "{}",
    }
    from_data = (PhraseRole.PREDICATE, PhraseRole.ENTITY)
    return Markup("").join(
        Markup(forms[role]).format(named(text) if role in from_data else text)
        for text, role in words
    )


def log_odds_text(number: float) -> str:
    """A contribution to log-odds as text, with a typographic minus."""
    return f"{number:+.2f}".replace("-", "−")


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return "undefined" if share is None else f"{100 * share:.3g} %"


def signed(number: float) -> str:
    """A number with its sign, with a typographic minus."""
    text = f"{number:+.1e}" if 0 < abs(number) < 5e-4 else f"{number:+.3f}"
    return text.replace("-", "−")


def path_steps(path: Grounding) -> Sequence[tuple[str, bool, str]]:
    """Steps of a path: the predicate, whether it is walked backwards, and the next entity.

    For a fact of three or more arguments, the whole atom replaces the predicate.
    """
    return [
        (fact.predicate if fact.is_edge else fact.atom, inverse, there)
        for fact, inverse, there in zip(path.facts, path.inverse, path.entities[1:], strict=True)
    ]
