"""How good a model is, as figures and as a page."""
