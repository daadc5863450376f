"""Whole graphs whose facts have a time: what a query at a time is answered from came before it.

In reading order: `timeline` has the events as arrays, `timed_features` the columns of a candidate,
`timed_kernels` the sweep through time that counts rules and gathers candidates, `timed_rules` the
rules with what was counted by the time since their bodies, `timed_learning` a model, `timed_ranker`
its answers, `timed_ranks` their evaluation, `timed_explainer` their reasons.
"""
