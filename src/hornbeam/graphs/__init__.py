"""Learning whole graphs: rules for every relation, and a ranking of missing links by them.

In reading order, each group after those that it is made of:

* queries and ranks, of any model: `queries`, `named_queries`, `triples`, `ranked_answers`,
  `filtered_ranks`, `rank_evaluation`; of rule models: `rule_ranker`, `separable_scores`;
* links as arrays: `linked_graph`, `grouped_queries`, `hidden_folds`, `multiple_links`;
* rules and their evidence: `equal_steps`, `discovery`, `path_rules`, `shared_counts`, `constants`,
  `ridge`, `pair_weights`, `graph_evidence`, `evidence_kernels`, `pools`;
* counting them: `graph_counter`, `memory_graph`, `sql/`;
* the ranking: `softmax`, `lbfgs`, `ranking_fit`, `rule_weights`, `calibration`;
* learning: `graph_settings`, `stage_shares`, `workload`, `graph_stages`;
* the model: `ranking_model`, `model_parts`, `graph_text`, `format_1`, `rule_files`;
* its use: `graph_ranker`, `memory_ranker`, `new_facts`, `graph_reasons`, `graph_explainer`.
"""
