"""Makes the web application for either kind of explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornbeam.serve.access import Access
from hornbeam.serve.state import Explorer
from hornbeam.serve.web_app import WebApp

if TYPE_CHECKING:
    from hornbeam.serve.graph_state import GraphExplorer


def make_app(explorer: Explorer | GraphExplorer, access: Access) -> WebApp:
    """Make the application of an explorer of rules or of a whole graph.

    Each is imported where it is served: whole graphs need libraries that take a second to load.
    """
    if isinstance(explorer, Explorer):
        from hornbeam.serve.rule_app import RuleApp

        return RuleApp(explorer, access)
    from hornbeam.serve.graph_app import GraphApp

    return GraphApp(explorer, access)
