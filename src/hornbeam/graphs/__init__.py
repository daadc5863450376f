"""Learning whole graphs: rules for every relation, and a ranking of missing links by them.

In reading order, each group of modules after the groups that it uses:

* queries and ranks, of any model, in `hornbeam.ranking`: `queries`, `named_queries`,
  `filtered_ranks`, `rank_evaluation`, `fact_ranker`;
* links as arrays: `linked_graph`, `grouped_queries`;
* rules and their evidence: `path_rules`, `constants`, `elimination`, `ridge`, `linked_pairs`,
  `features`, `graph_evidence`, `evidence_kernels`, `pools`;
* counting rules: `graph_counter`, `memory_graph`, `sql/`;
* the ranking: `softmax`, `lbfgs`, `ranking_fit`, `ranking_choice`;
* learning: `graph_settings`, `workload`, `graph_stages`, `path_lengths`, `functional`;
* the model: `ranking_model`, `model_parts`, `graph_text`, `format_1`, `rule_files`;
* use of the model: `graph_ranker`, `graph_scorer`, `graph_reasons`, `graph_explainer`.
"""
