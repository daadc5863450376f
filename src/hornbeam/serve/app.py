"""Making the application: the one place that tells what is served apart."""

from __future__ import annotations

from starlette.types import ASGIApp

from hornbeam.serve.access import Access
from hornbeam.serve.graph_app import GraphApp
from hornbeam.serve.graph_state import GraphExplorer
from hornbeam.serve.rule_app import RuleApp
from hornbeam.serve.state import Explorer


def make_app(explorer: Explorer | GraphExplorer, access: Access) -> ASGIApp:
    """Make the application of an explorer of rules or of a whole graph."""
    if isinstance(explorer, GraphExplorer):
        return GraphApp(explorer, access).guarded()
    return RuleApp(explorer, access).guarded()
