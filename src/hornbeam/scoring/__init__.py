"""From a model to scores: of independent pairs, of collective ones, and of new links."""
