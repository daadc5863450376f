"""Why a pair scores as it does."""
