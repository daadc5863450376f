"""Reading texts of rules: whole programs, or the logical rules of model files."""

from __future__ import annotations

from hornbeam.language.arithmetic_rules import ArithmeticRule, PslRule
from hornbeam.language.syntax import LogicalRule, error_at


def parse_rules(text: str, name: str) -> list[PslRule]:
    """Rules of a text, in its order; messages call it by `name`, with line and column.

    A byte order mark and any line ends are tolerated.

    Examples
    --------
    >>> [rule] = parse_rules("0.5: knows(A, B) << knows(B, A) # both ways", "program.psl")
    >>> str(rule)
    '0.5: knows(B, A) -> knows(A, B)'
    >>> [rule] = parse_rules("1 - friend(A, +B) / 2 >= 0 .", "program.psl")
    >>> str(rule)
    '(-1.0 / 2.0) * friend(A, +B) + 1.0 >= 0.0 .'
    """
    # Lark loads when a text is parsed: rules are made, shown and written without it.
    from hornbeam.language.parsing import read_rules

    return list(read_rules(unix_lines(text), name))


def parse_logical_rules(text: str, name: str) -> list[LogicalRule]:
    """Rules of a text that holds logical rules only, as model files do; see `parse_rules`.

    They may have brackets: ways of counting after rules, thresholds after atoms and groups.

    Examples
    --------
    >>> text = "1: (a(A, X) & b(X, B)) [n >= 3] & c(B) -> t(A, B) [share / 0.0123] ^2"
    >>> [rule] = parse_logical_rules(text, "model.psl")
    >>> str(rule.weighing), str(rule.thresholds[0].threshold)
    ('[share / 0.0123]', '[n >= 3]')
    """
    from hornbeam.language.parsing import read_rules

    rules = []
    for rule in read_rules(unix_lines(text), name, brackets=True):
        if isinstance(rule, ArithmeticRule):
            problem = (
                f"'{rule.relation}' makes this an arithmetic rule, and only logical rules are "
                f"read here (the rule is: {rule})"
            )
            raise error_at(rule.place, name, problem)
        rules.append(rule)
    return rules


def unix_lines(text: str) -> str:
    r"""Drop a byte order mark and write `\n` for every line end."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
