"""PSL programs: reading, checking, grounding, inference, and the export of models as programs."""
