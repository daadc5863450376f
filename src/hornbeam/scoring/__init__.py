"""From a model to scores: pairs alone, pairs together, new links."""
