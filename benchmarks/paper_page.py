"""Writes what `paper` measured as a page: the text is `paper_template.md`, the tables are here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from common import markdown
from hornbeam.scoring.evaluation import paired_significance

if TYPE_CHECKING:
    from paper import Outcome, Timing
    from paper_claims import Ascent, Runaway

TEMPLATE = Path(__file__).with_name("paper_template.md")
TITLES = {
    "fly": "Fly-Gene",
    "yeast_pra": "Yeast-Gene",
    "ddi_196": "DDI-Interacts",
    "film_rating": "Freebase-FilmRating",
    "book_author": "Freebase-BookAuthor",
}
#: Table 1 of the paper, on its own data.
PUBLISHED = {
    "GLS": ("0.95 ± 0.01", "0.86 ± 0.02", "0.66 ± 0.01", "0.65 ± 0.04", "0.67 ± 0.03"),
    "PPLL": ("**0.97 ± 0.002**", "**0.90 ± 0.003**", "**0.76 ± 0.01**", "0.65 ± 0.05",
             "0.65 ± 0.04"),
}  # fmt: skip
#: "Four minutes" and "almost two days" for BookAuthor with 200 clauses.
PUBLISHED_SECONDS = {"PPLL": 240.0, "GLS": 2 * 86400.0}
LEVEL = 0.05
PAIRS = (
    ("PPLL, p = 2, MAP", "GLS, p = 2, MAP"),
    ("PPLL, p = 2, E[y]", "GLS, p = 2, E[y]"),
    ("PPLL, p = 1, E[y]", "GLS, p = 1, E[y]"),
    ("`joint`", "PPLL, p = 2, MAP"),
    ("`joint`", "`ppll`"),
    ("`joint`", "`greedy`"),
    ("`joint`", "boosted trees, exact splits"),
    ("`joint`", "boosted trees, histograms"),
)
#: The same learner with and without collective learning and inference.
COLLECTIVE = (
    ("PPLL, p = 2, collective, ADMM MAP", "PPLL, p = 2, MAP"),
    ("GLS, p = 2, collective, ADMM MAP", "GLS, p = 2, MAP"),
    ("PPLL, p = 2, collective, E[y]", "PPLL, p = 2, E[y]"),
    ("GLS, p = 2, collective, E[y]", "GLS, p = 2, E[y]"),
    ("`ppll --collective-method map`", "`ppll`"),
    ("`greedy --collective-method map`", "`greedy`"),
    ("`joint --collective-method map`", "`joint`"),
)
Outcomes = dict[str, "Outcome"]


def write_page(
    output: Path,
    outcomes: Outcomes,
    timings: list[Timing],
    ascents: list[Ascent],
    runaways: list[Runaway],
    richer: str,
) -> None:
    """The page, and beside it the plot of the runtime figure."""
    output.parent.mkdir(parents=True, exist_ok=True)
    picture = output.with_name(f"{output.stem}-runtime.png")
    plot_runtime(picture, timings)
    book = max((t for t in timings if t.task == "book_author"), key=lambda t: t.sequences)
    text = Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        summary=summary(outcomes),
        folds=len(next(iter(outcomes.values())).candidates),
        table_one=table_one(outcomes),
        significance=significance(outcomes, PAIRS),
        collective=significance(outcomes, COLLECTIVE),
        helped="\n".join(winner(outcomes, *pair) for pair in COLLECTIVE),
        picture=picture.name,
        runtime=runtime(timings),
        book_sequences=book.sequences,
        book_clauses=2 * book.sequences,
        book_gradient=f"{book.ppll_gradient:.2f}",
        book_newton=f"{book.ppll_newton:.3f}",
        book_gls=f"{book.gls:.2f}",
        ties=ties(outcomes),
        winners=winners(outcomes),
        signs=signs(ascents),
        steps=steps(ascents),
        runaways="\n\n".join(map(runaway, runaways)),
        richer=richer,
    )
    output.write_text(text, encoding="utf-8")


def by_task(first: str, outcomes: Outcomes) -> list[str]:
    """Head of a table with a column a task."""
    return [first, *(f"`{task}`" for task in outcomes)]


def mean_sd(values: list[float]) -> str:
    """Mean and standard deviation over folds."""
    spread = f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else ""
    return f"{np.mean(values):.3f}{spread}"


def compare(outcome: Outcome, one: str, other: str) -> tuple[float, float]:
    """Difference of the mean AUC of two rows and its p-value."""
    a, b = outcome.auc[one], outcome.auc[other]
    return float(np.mean(a) - np.mean(b)), paired_significance(a, b)


# --- the table -----------------------------------------------------------------------------


def summary(outcomes: Outcomes) -> str:
    """The findings in three lines."""
    gains = [compare(o, "`joint`", "PPLL, p = 2, MAP")[0] for o in outcomes.values()]
    lines = [
        "In short, with the means over the folds:",
        "",
        f"* `joint` ranks better than the paper's PPLL (p = 2, MAP) on {sum(g > 0 for g in gains)} "
        f"of {len(gains)} tasks, by {min(gains):+.3f} to {max(gains):+.3f}.",
    ]
    for trees in ("boosted trees, exact splits", "boosted trees, histograms"):
        found = {task: compare(o, "`joint`", trees) for task, o in outcomes.items()}
        ahead = [f"`{task}`" for task, (gap, _) in found.items() if gap >= 0]
        beaten = [f"`{task}`" for task, (gap, p) in found.items() if gap < 0 and p < LEVEL]
        lines.append(
            f"* Against {trees}, `joint` is level or ahead on {', '.join(ahead) or 'no task'}, "
            f"and significantly behind on {', '.join(beaten) or 'no task'}."
        )
    return "\n".join(lines)


def table_one(outcomes: Outcomes) -> str:
    """The paper's lines, then ours."""
    from paper import COLLECTIVE_ROWS, OUR_ROWS, PAPER_ROWS, TREE_ROWS

    head = ["AUC-ROC", *(f"{TITLES[task]}<br>`{task}`" for task in outcomes)]
    places = [list(TITLES).index(task) for task in outcomes]
    rows = [
        [f"the paper, on its own data: {name}", *(cells[place] for place in places)]
        for name, cells in PUBLISHED.items()
    ]
    for title, group in (
        ("**the paper's settings**", PAPER_ROWS),
        ("**all candidates, as the learners come**", OUR_ROWS),
        ("**the same, collective**", COLLECTIVE_ROWS),
        ("**reference, no rule model**", TREE_ROWS),
    ):
        rows.append([title] + [""] * len(outcomes))
        rows += [
            [row.name, *(mean_sd(o.auc[row.name]) for o in outcomes.values())] for row in group
        ]
    rows.append(["**mean sizes**"] + [""] * len(outcomes))
    rows.append(
        ["candidate sequences", *(f"{np.mean(o.candidates):.0f}" for o in outcomes.values())]
    )
    for name, model in (("PPLL, p = 2", "ppll2"), ("`joint`", "joint"), ("`greedy`", "greedy")):
        sizes = (f"{np.mean(o.rules[model]):.0f}" for o in outcomes.values())
        rows.append([f"rules of {name}, with the prior", *sizes])
    return markdown(head, rows)


def significance(outcomes: Outcomes, pairs: Iterable[tuple[str, str]]) -> str:
    """Differences of AUC with their p-values."""
    rows = []
    for one, other in pairs:
        cells = []
        for outcome in outcomes.values():
            gap, p = compare(outcome, one, other)
            cell = f"{gap:+.3f} ({'< 0.001' if p < 0.001 else f'{p:.3f}'})"
            cells.append(f"**{cell}**" if p < LEVEL else cell)
        rows.append([f"{one} − {other}", *cells])
    return markdown(by_task("difference of AUC-ROC (p-value)", outcomes), rows)


# --- the runtime figure --------------------------------------------------------------------


def runtime(timings: list[Timing]) -> str:
    """CPU seconds by task and number of sequences."""
    head = ["task, fold 0", "sequences", "PPLL, 150 gradient steps", "PPLL, Newton", "GLS",
            "GLS / PPLL (gradient)", "GLS / PPLL (Newton)"]  # fmt: skip
    rows = [
        [f"`{t.task}`", str(t.sequences), f"{t.ppll_gradient:.3f}", f"{t.ppll_newton:.3f}",
         f"{t.gls:.3f}", f"{t.gls / t.ppll_gradient:.1f}", f"{t.gls / t.ppll_newton:.0f}"]
        for t in timings
    ]  # fmt: skip
    return markdown(head, rows)


def plot_runtime(path: Path, timings: list[Timing]) -> None:
    """Seconds on a log scale against sequences: the two long tasks, then the short ones."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    colours = {"GLS": "#b23a48", "PPLL": "#1f6f8b"}
    styles = {
        "gls": ("GLS", colours["GLS"], "s"),
        "ppll_gradient": ("PPLL, 150 gradient steps", colours["PPLL"], "o"),
        "ppll_newton": ("PPLL, Newton", "#57a773", "^"),
    }
    panels = [["book_author"], ["ddi_196"], ["film_rating", "yeast_pra", "fly"]]
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 4.4), sharey=True, layout="constrained")
    for axis, tasks in zip(axes, panels, strict=True):
        for task, line in zip(tasks, ("-", "--", ":"), strict=False):
            mine = [t for t in timings if t.task == task]
            x = [t.sequences for t in mine]
            for field, (label, colour, marker) in styles.items():
                axis.plot(x, [getattr(t, field) for t in mine], line, color=colour, marker=marker,
                          label=label, markersize=5)  # fmt: skip
            if len(tasks) > 1:
                above = {"film_rating": (8, 2), "yeast_pra": (8, 4), "fly": (8, -6)}[task]
                axis.annotate(task, (x[-1], mine[-1].gls), above, textcoords="offset points",
                              fontsize=8)  # fmt: skip
        axis.set_yscale("log")
        axis.set_xlim(0, 212 if len(tasks) == 1 else 60)
        axis.set_title(", ".join(tasks), fontsize=10)
        axis.set_xlabel("candidate sequences, each with its negation")
        axis.grid(True, which="major", alpha=0.3)
    for name, marker in (("GLS", "s"), ("PPLL", "o")):
        axes[0].plot([200], [PUBLISHED_SECONDS[name]], marker, color=colours[name], mfc="none",
                     ms=9, label=f"{name} in the paper, 200 clauses")  # fmt: skip
    axes[0].set_ylabel("CPU seconds (log scale)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5,
                  fontsize=8, frameon=False)  # fmt: skip
    figure.savefig(path, dpi=130, metadata={"Software": None})
    pyplot.close(figure)


# --- claims --------------------------------------------------------------------------------


def ties(outcomes: Outcomes) -> str:
    """AUC and ties of the same weights scored by MAP and by the mean."""
    rows = []
    for name in ("PPLL, p = 2", "GLS, p = 2", "PPLL, p = 1", "`joint`"):
        mean = name if name == "`joint`" else f"{name}, E[y]"
        for title, key, kind in (
            ("AUC of MAP", f"{name}, MAP", "auc"),
            ("AUC of E[y]", mean, "auc"),
            ("tied by MAP", f"{name}, MAP", "ties"),
            ("tied by E[y]", mean, "ties"),
        ):
            values = [float(np.mean(getattr(o, kind)[key])) for o in outcomes.values()]
            shown = [f"{v:.3f}" if kind == "auc" else f"{100 * v:.0f} %" for v in values]
            rows.append([f"{name}: {title}", *shown])
    return markdown(by_task("same weights, two scores", outcomes), rows)


def winners(outcomes: Outcomes) -> str:
    """Where PPLL differs significantly from GLS with the paper's settings."""
    return "\n".join(winner(outcomes, *pair) for pair in PAIRS[:3])


def winner(outcomes: Outcomes, one: str, other: str) -> str:
    """Where one row is significantly better than another, and where worse."""
    found = {task: compare(outcome, one, other) for task, outcome in outcomes.items()}
    sure = {task: gap for task, (gap, p) in found.items() if p < LEVEL}
    won = ", ".join(f"`{task}`" for task, gap in sure.items() if gap > 0) or "no task"
    lost = ", ".join(f"`{task}`" for task, gap in sure.items() if gap < 0) or "no task"
    return f"* {one} against {other}: significantly better on {won}, significantly worse on {lost}."


def signs(ascents: list[Ascent]) -> str:
    """What following the gradient, and following it as printed, arrives at."""
    rows = [
        [f"{name}: {what}", *(f"{getattr(a, key)[i]:,.{digits}f}" for a in ascents)]
        for name, key in (
            ("expected − observed", "ascending"),
            ("observed − expected, as printed", "as_printed"),
            ("exact optimum (Newton)", "exact"),
        )
        for i, (what, digits) in enumerate((("log PPLL", 0), ("test AUC", 3)))
    ]
    return markdown(["fold 0, p = 1", *(f"`{a.task}`" for a in ascents)], rows)


def steps(ascents: list[Ascent]) -> str:
    """What 150 steps of any size arrive at."""
    from paper import STEPS

    rows = [
        [f"step {step:g}", *(f"{a.steps[i]:,.0f}" for a in ascents)] for i, step in enumerate(STEPS)
    ]
    rows.append(["Newton, to the optimum", *(f"**{a.exact[0]:,.0f}**" for a in ascents)])
    return markdown(["log PPLL after 150 steps, p = 1", *(f"`{a.task}`" for a in ascents)], rows)


def runaway(found: Runaway) -> str:
    """Weights of one clause under ever wider priors."""
    from paper_claims import VARIANCES

    head = ["variance of the prior on weights", *(f"{v:,.0f}" for v in VARIANCES)]
    rows = [
        [f"weight, p = {p + 1}", *(f"{pair[p]:,.1f}" for pair in found.weights)] for p in (0, 1)
    ]
    return (
        f"`{found.clause}` connects {found.coverage} training targets of `{found.task}`, fold 0, "
        f"all of them true:\n\n{markdown(head, rows)}"
    )
