"""`hornbeam learn`: from facts to a model, of rules for labelled pairs or of a whole graph."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornbeam.base.choices import CollectiveMethod, EngineName
from hornbeam.base.files import refuse_inputs, save_text
from hornbeam.base.terminal_progress import WholeProgress
from hornbeam.cli import options
from hornbeam.cli.console import print_line, print_sentence, print_table, screen
from hornbeam.cli.evidence import RunOptions
from hornbeam.cli.extended_programs import given_program, learn_beside
from hornbeam.cli.learner_options import FitOptions, OwnRuleOptions
from hornbeam.cli.option_groups import Options, option
from hornbeam.cli.outputs import check_output, input_files
from hornbeam.errors import InputError

if TYPE_CHECKING:
    from hornbeam.graph_model import GraphModel
    from hornbeam.learning.trace import Trace
    from hornbeam.model import Model

#: Name of the single progress stage of learning a whole graph.
LEARNING = "Learning the graph"


@dataclass(frozen=True)
class GraphOptions(Options):
    """How a whole graph is learned."""

    all_relations: bool = options.graph_option(
        "Learn to answer (a, relation, ?) and (?, relation, b) for every relation, or for "
        "those given by --target: a model of the whole graph.",
        "--all-relations",
        default=False,
    )
    valid: list[str] | None = options.graph_option(
        "Held-out facts, by which features and penalties are chosen; without them, by a "
        "part of the facts.",
        metavar="FILE",
    )
    time_limit: float | None = options.graph_option(
        "Begin nothing new after this; use what there is.", min=1.0, metavar="SECONDS"
    )

    def __post_init__(self) -> None:
        given = {"valid": self.valid, "time_limit": self.time_limit}
        for name, value in given.items():
            if value is not None and not self.all_relations:
                raise InputError(f"`{name}` is for --all-relations")


#: Options of single targets that whole graphs use, too; numbers of tables are not used.
GRAPH_TOO = (
    "facts", "arguments", "table", "key", "tables", "link", "type_", "prefix", "target",
    "max_length", "rules",
)  # fmt: skip

# --- learn ----------------------------------------------------------------------------------------


def learn(
    *,
    training: options.TrainingOptions,
    output: Path = option("Where the model goes.", "--output", "-o", metavar="FILE", default=...),
    fitting: FitOptions,
    rules: options.LanguageOptions,
    own: OwnRuleOptions,
    graph: GraphOptions,
    names: list[str] | None = option(
        "Names of relations for --target, types of entities for --arguments: id TAB name [TAB "
        "type].",
        metavar="FILE",
    ),
    seed: int = options.seed_option(),
    engine: options.EngineOptions,
    run: RunOptions,
) -> None:
    """Learn a weighted rule model and write it as PSL text that you can read and edit.

    With [bold]--labels[/bold] it learns to tell the true from the false pairs. Without, the facts
    of [bold]--target[/bold] are the true ones and false ones are sampled. Several targets are
    learned together, into one model. With [bold]--all-relations[/bold] it learns to rank the
    missing facts of a whole graph, which is a model of another kind.

    Your own rules stay in the model: [bold]--rules mine.psl[/bold]. They need no weight, and
    learning adds what they leave unexplained. If they are those of a PSL program, which also has
    the facts and labels, the result is a program that [bold]infer[/bold] runs.

    [dim]Examples:[/dim]

      hornbeam learn --facts observed.tsv --labels train.tsv -o model.psl

      hornbeam learn --facts graph.tsv --target works_for -o model.psl

      hornbeam learn --facts graph.tsv --target works_for --target lives_in -o model.psl

      hornbeam learn --facts observed.tsv --labels train.tsv --rules mine.psl -o model.psl

      hornbeam learn --facts p.json --labels p.json --rules p.json --guard Cand -o more.psl

      hornbeam learn --facts train.tsv --all-relations --valid valid.tsv -o graph.hornbeam
    """
    check_output(output)
    if graph.all_relations:
        _refuse(training, fitting, rules, own)
        _learn_graph(training, output, graph, own.rules, rules.max_length, names, seed, engine, run)
        return
    program = given_program(own, training)
    if program is not None:
        if engine.engine is not EngineName.MEMORY:
            raise InputError("rules beside those of a PSL program are learned in memory")
        learn_beside(program, training, output, fitting, rules, own, seed, engine.threads, run)
        return
    _learn_rules(training, output, fitting, rules, own, names, seed, engine, run)


# --- rules for labelled pairs, or for the facts of a relation -------------------------------------


def _learn_rules(
    training: options.TrainingOptions,
    output: Path,
    fitting: FitOptions,
    rules: options.LanguageOptions,
    own: OwnRuleOptions,
    names: list[str] | None,
    seed: int,
    engine: options.EngineOptions,
    run: RunOptions,
) -> None:
    """Learn a rule model, write it and its trace, and show it."""
    import hornbeam as hb
    from hornbeam.learning.trace import check_trace_path, trace_path

    trace_file = trace_path(output)
    inputs_given = input_files([*training.facts.files, *(training.labels or ()), *own.files])
    refuse_inputs(trace_file, inputs_given)
    check_trace_path(trace_file)
    learner = fitting.learner(seed)
    clock = time.perf_counter()
    collective = fitting.evidence.collective_asked
    by_folds = not training.labels or fitting.evidence.cross_evidence
    stages = _stages(learner.stage, by_folds, collective == CollectiveMethod.TWO_STEP)
    with run.started(stages) as inputs, ExitStack() as stack:
        if training.labels and fitting.negatives != 1.0:
            inputs.progress.message("Labels say what is false: --negatives changes nothing.")
        labelled = inputs.read_given(hb.read_labels, training.labels)
        facts = stack.enter_context(inputs.engine(training.facts, engine, names))
        # labels in the facts are looked for only where a target is none of the relations
        by_id = set(training.target or ()) <= set(facts.predicates)
        called = inputs.names(names, None if by_id else facts.facts)
        load = time.perf_counter() - clock
        model = hb.learn(
            facts,
            labelled,
            target=training.targets_in(facts.predicates, called),
            method=learner,
            language=rules.language(),
            counts=fitting.evidence.counts,
            relaxation=fitting.relaxation,
            cross_evidence=fitting.evidence.cross_evidence,
            collective=collective,
            rules=own.rules,
            keep=own.keep,
            guard=own.guard,
            start=fitting.start,
            refit=fitting.refit,
            negatives=fitting.negatives,
            negative_sampling=fitting.negative_sampling,
            seed=seed,
            progress=inputs.progress,
        )
    assert model.trace is not None
    trace = replace(model.trace, seconds={"load": load, **model.trace.seconds})
    model.save(output)
    if output.is_file():
        save_text(trace_file, trace.text)
    run.console.print(lambda: _as_dict(model, trace), lambda: _show(model, trace, output))


def _stages(learning: str, by_folds: bool, two_steps: bool) -> WholeProgress:
    """Stages of learning for one progress bar; shares are rounded times on three data sets."""
    counting = {"Counting paths": 5.0, "Counting fold by fold": 30.0 if by_folds else 0.0}
    fitting = {learning: 55.0, "Second step": 300.0 if two_steps else 0.0}
    return WholeProgress("Learning", counting | fitting | {"What follows": 10.0})


def _refuse(
    training: options.TrainingOptions,
    fitting: FitOptions,
    rules: options.LanguageOptions,
    own: OwnRuleOptions,
) -> None:
    """Refuse options that whole graphs do not use, instead of ignoring them silently."""
    given = chain(training.changed(), fitting.changed(), rules.changed(), own.changed())
    for name in given:
        if name not in GRAPH_TOO:
            raise InputError(f"`{name}` is for single targets: leave it out of --all-relations")


def _as_dict(model: Model, trace: Trace) -> dict[str, Any]:
    from hornbeam.explaining.known_scores import cautions

    return {
        "rules": [
            {
                "rule": text,
                "weight": rule.weight,
                **({"own": text in trace.own} if trace.own else {}),
            }
            for rule, text in zip(model.rules, model.clause_texts, strict=True)
        ],
        "predicates": {spelt: name for name, spelt in model.identifiers.items() if spelt != name},
        "candidates": len(trace.candidates),
        "targets": trace.targets,
        "positives": trace.positives,
        "counts": model.semantics.counts.value,
        "relaxation": model.semantics.relaxation.value,
        "collective": model.semantics.collective or False,
        **_both_steps(model, trace),
        "cautions": cautions(model, trace),
        "seconds": {name: round(value, 4) for name, value in trace.seconds.items()},
    }


def _both_steps(model: Model, trace: Trace) -> dict[str, Any]:
    """JSON of the two steps, if any: the rules of the first step, and the gain by the second."""
    if trace.second_step is None:
        return {}
    beliefs = zip(model.beliefs, model.belief_texts, strict=True)
    return {
        "beliefs": [{"rule": text, "weight": rule.weight} for rule, text in beliefs],
        "second_step": asdict(trace.second_step),
    }


def _show(model: Model, trace: Trace, output: Path) -> None:
    from hornbeam.explaining.known_scores import cautions

    shown = zip(model.rules, model.clause_texts, strict=True)
    rows = ((f"{rule.weight:.3f}", text) for rule, text in shown)
    print_table(["weight", "rule"], rows, total=len(model.rules), rest=f", all in {output}")
    out = screen()
    if model.beliefs:
        out.print(f"Beliefs come from {len(model.beliefs)} rules of a first step.")
    for caution in cautions(model, trace):
        print_line(out, caution)
    seconds = trace.seconds
    if trace.own:
        verb = "is" if len(trace.own) == 1 else "are"
        print_line(out, f"{len(trace.own)} of the rules {verb} your own.")
    print_line(
        out,
        f"{len(model.rules)} rule{'s' * (len(model.rules) != 1)} of {len(trace.candidates):,} "
        f"candidate bod{'ies' if len(trace.candidates) != 1 else 'y'}, "
        f"counts {trace.counts}; load {seconds['load']:.2f} s, generate "
        f"{seconds['generate']:.2f} s, learn {seconds['learn']:.2f} s. Wrote {output}.",
    )


# --- whole graphs ---------------------------------------------------------------------------------


def _learn_graph(
    training: options.TrainingOptions,
    output: Path,
    graph: GraphOptions,
    rules: str | None,
    max_length: int | None,
    names: list[str] | None,
    seed: int,
    engine: options.EngineOptions,
    run: RunOptions,
) -> None:
    """Learn a model of a whole graph, write it, and show a summary."""
    import hornbeam as hb

    engine.check_graph()
    clock = time.perf_counter()
    whole = WholeProgress(LEARNING, {LEARNING: 1.0})  # shown in percent, not in units of work
    with run.started(whole) as inputs, inputs.engine(training.facts, engine, names) as known:
        valid = inputs.read_given(hb.read_facts, graph.valid)
        load = time.perf_counter() - clock
        model = hb.learn_graph(
            known,
            valid,
            relations=training.target,
            rules=rules,
            max_length=max_length or "auto",
            time_limit=graph.time_limit,
            seed=seed,
            threads=engine.threads,
            progress=inputs.progress,
        )
    model.save(output)
    seconds = {"load": load, "learn": time.perf_counter() - clock - load}
    run.console.print(
        lambda: _graph_as_dict(model, seconds), lambda: _show_graph(model, output, seconds)
    )


def _graph_as_dict(model: GraphModel, seconds: dict[str, float]) -> dict[str, Any]:
    return {
        "rules": model.to_table().dicts(),
        "relations": len(model.targets),
        "features": list(model.features),
        "chosen": dict(model.chosen),
        "cautions": model.cautions,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
    }


def _show_graph(model: GraphModel, output: Path, seconds: dict[str, float]) -> None:
    from hornbeam.graphs.graph_text import rule_text

    best = [
        (rule, rule_text(rule.clause, part.direction, model.identifiers))
        for part in model.relations
        for rule in part.rules[:1]
    ]
    best.sort(key=lambda pair: (-pair[0].confidence, pair[1]))
    rows = [
        (f"{rule.confidence:.3f}", f"{rule.hits:,}", f"{rule.predicted:,}", text)
        for rule, text in best
    ]
    columns = ["confidence", "hits", "predicted", "best rule"]
    rest = f", all in {output}"
    print_table(columns, rows, text=columns[-1], total=len(best), rest=rest)
    for caution in model.cautions:
        print_sentence(caution)
    n_rules = sum(len(part.rules) for part in model.relations)
    chosen = model.chosen
    how = model.internal_validation or "the time limit left no time to measure the MRR"
    if chosen["held_out"] == "none":
        how = "counted, and ranked by best confidence: nothing was fitted"
    print_sentence(
        f"{len(model.targets):,} relations, {n_rules:,} path rules; {how}; load "
        f"{seconds['load']:.2f} s, learn {seconds['learn']:.2f} s. Wrote {output}."
    )
    if chosen["stopped_early"] == "yes":
        print_sentence("The time limit was reached: the model is made of the results so far.")
