"""The explorer of a PSL program: what its pages say, in HTML and in JSON, to anybody."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

import hornbeam as hb
from hornbeam.serve.program_explorer import ProgramExplorer, open_program_explorer
from hornbeam.serve.program_pages import LISTED, ProgramSite
from hornbeam.serve.visits import PageAnswer, Visit
from tests.support.commands import HOSTILE, hornbeam_
from tests.support.pages import Page
from tests.support.served_programs import PEOPLE, write_program
from tests.support.servers import SCRIPT, serving

ATOM = {"predicate": "Trusts", "a1": "ann", "a2": SCRIPT}
VISITS: list[tuple[str, dict[str, str]]] = [
    ("/", {}),
    ("/search", {"q": "script"}),
    ("/rules", {}),
    ("/rules", {"rule": "2", "page": "2"}),
    ("/rules", {"rule": "4"}),
    ("/atoms", {}),
    ("/atoms", {"predicate": "Trusts", "order": "error"}),
    ("/entity", {"name": SCRIPT}),
    ("/entity", {"name": "cy", "order": "error"}),
    ("/atom", ATOM),
    ("/atom", {"predicate": "Wise", "a1": SCRIPT}),
    ("/atom", {"predicate": "Lent", "a1": "cy", "a2": "bob", "a3": SCRIPT}),
    *(("/entity", {"name": name}) for name in HOSTILE),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_program(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def explorer(program: Path) -> Iterator[ProgramExplorer]:
    with open_program_explorer(hb.infer(program), program.name) as opened:
        yield opened


@pytest.fixture(scope="module")
def site(explorer: ProgramExplorer) -> ProgramSite:
    return ProgramSite(explorer)


def answer(site: ProgramSite, path: str, query: dict[str, str]) -> PageAnswer:
    return site.addresses[path].page(Visit(query, path=path))


def told(site: ProgramSite, path: str, query: dict[str, str]) -> Any:  # noqa: ANN401
    found = answer(site, "/index.json" if path == "/" else f"{path}.json", query)
    assert (found.status, found.media_type) == (200, "application/json")
    return json.loads(found.body, parse_constant=pytest.fail)


def words(site: ProgramSite, path: str, query: dict[str, str]) -> str:
    return Page.of(answer(site, path, query).body).words


#: Addresses that a page has led to already: most pages have the same links.
FOLLOWED: set[str | None] = set()


@pytest.mark.parametrize(("path", "query"), VISITS)
def test_every_page_exists_and_its_links_lead_somewhere(
    site: ProgramSite, path: str, query: dict[str, str]
) -> None:
    assert told(site, path, query)
    page = answer(site, path, query)
    assert page.status == 200
    assert "<script>alert" not in page.body
    assert not re.search(r"<[^>]+ (style|on[a-z]+)=", page.body)
    html = Page.of(page.body)
    assert html.all("h1")
    inside = {link["href"] for link in html.all("a") if (link["href"] or "").startswith("/")}
    for address in inside - FOLLOWED:
        parts = urlsplit(address or "")
        linked = answer(site, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)))
        assert linked.status == 200, address
        FOLLOWED.add(address)


def test_the_start_page_has_the_rules_with_their_figures(
    site: ProgramSite, explorer: ProgramExplorer
) -> None:
    shown, index = words(site, "/", {}), told(site, "/", {})
    inference = explorer.inference
    assert index["objective"] == inference.found.objective
    assert sum(rule["cost"] or 0.0 for rule in index["rules"]) == pytest.approx(index["objective"])
    assert [rule["ground_rules"] for rule in index["rules"]] == inference.ground.counts.tolist()
    for rule in index["rules"]:
        weight = "hard" if rule["weight"] is None else f"{rule['weight']:.3g}"
        assert f"{rule['text']} {weight} {rule['ground_rules']:,} {rule['violated']:,}" in shown
    assert index["evaluations"]["Trusts"]["mae"] == inference.evaluations["Trusts"].mae
    assert f"mean absolute error {inference.evaluations['Trusts'].mae:.3f}" in shown


def test_an_atom_has_its_pulls_with_their_signs(
    site: ProgramSite, explorer: ProgramExplorer
) -> None:
    shown, atom = words(site, "/atom", ATOM), told(site, "/atom", ATOM)
    found = explorer.atoms.find("Trusts", ("ann", SCRIPT))
    assert found is not None
    assert atom["value"] == found.value
    assert atom["truth"] == 1.0
    assert f"{found.value:.3f}" in shown
    assert any(rule["ground_rule"].startswith("Knows('ann', ") for rule in atom["up"])
    assert all(rule["pull"] > 0 for rule in atom["up"] if rule["pull"] is not None)
    assert all(rule["pull"] < 0 for rule in atom["down"] if rule["pull"] is not None)
    hard = [rule for rule in atom["down"] if rule["weight"] is None]
    assert [rule["ground_rule"] for rule in hard] == ["Trusts('ann', +B) <= 3.0"]
    assert f"pull it up by {atom['pull_up']:.3g}" in shown
    observed = told(site, "/atom", {"predicate": "Wise", "a1": "cy"})
    assert observed == {
        "predicate": "Wise", "arguments": ["cy"], "value": 0.7, "truth": None, "target": False
    }  # fmt: skip


def test_predictions_stand_beside_the_truth(site: ProgramSite) -> None:
    by_error = told(site, "/atoms", {"predicate": "Trusts", "order": "error"})["atoms"]
    errors = [abs(atom["value"] - atom["truth"]) for atom in by_error[:3]]
    assert errors == sorted(errors, reverse=True)
    assert all(atom["truth"] is None for atom in by_error[3:])
    first = told(site, "/atoms", {})
    assert first["total"] == len(PEOPLE) ** 2 + 2
    pages = [told(site, "/atoms", {"page": str(n + 1)}) for n in range(first["pages"])]
    values = [atom["value"] for page in pages for atom in page["atoms"]]
    assert len(values) == first["total"]
    assert values == sorted(values, reverse=True)
    entity = told(site, "/entity", {"name": "cy"})
    assert all("cy" in atom["arguments"] for atom in entity["atoms"])
    assert set(entity["observed"]) == {"Knows", "Wise", "Lent"}


def test_ground_rules_turn_pages_by_cost(site: ProgramSite) -> None:
    first = told(site, "/rules", {"rule": "2"})
    assert first["pages"] == -(-first["total"] // LISTED) > 2
    pages = [told(site, "/rules", {"rule": "2", "page": str(n)}) for n in (1, 2)]
    costs = [rule["cost"] for page in pages for rule in page["ground_rules"]]
    assert len(costs) == 2 * LISTED
    assert costs == sorted(costs, reverse=True)
    last = told(site, "/rules", {"rule": "2", "page": "99999"})
    assert last["page"] == first["pages"]


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/rules", {"rule": "6"}, 404),
        ("/rules", {"rule": "x"}, 404),
        ("/atoms", {"predicate": "Knows"}, 404),
        ("/entity", {"name": "nobody"}, 404),
        ("/entity", {}, 404),
        ("/atom", {"predicate": "Hates", "a1": "ann"}, 404),
        ("/atom", {"predicate": "Trusts", "a1": "ann"}, 400),
    ],
)
def test_what_is_unknown_is_said(
    site: ProgramSite, explorer: ProgramExplorer, path: str, query: dict[str, str], status: int
) -> None:
    found = answer(site, f"{path}.json", query)
    assert found.status == status
    assert json.loads(found.body).keys() == {"error"}
    with serving(explorer) as client:
        page = client.get(f"{path}?{urlencode(query, quote_via=quote)}")
    assert page.status == status


def test_pages_come_from_the_server_guarded(explorer: ProgramExplorer) -> None:
    with serving(explorer) as client:
        for path in ("/", "/rules", f"/atom?{urlencode(ATOM, quote_via=quote)}"):
            reply = client.get(path)
            assert reply.status == 200
            assert "default-src 'none'" in reply.headers["content-security-policy"]
        assert client.get("/link?subject=a&relation=b&object=c").status == 404
        service = client.get("/api/v1/model")
        assert (service.status, "/index.json" in service.body) == (404, True)


@pytest.mark.parametrize(
    "option", [("--facts", "f.tsv"), ("--labels", "l.tsv"), ("--known", "k.tsv")]
)
def test_options_of_models_are_refused(program: Path, option: tuple[str, str]) -> None:
    done = hornbeam_("serve", program, *option)
    assert done.code == 2
    assert f"is a PSL program; {option[0]} is for models" in done.stderr


def test_a_model_still_needs_facts(tmp_path: Path) -> None:
    model = tmp_path / "model.psl"
    model.write_text("1: p(A, B) -> q(A, B)\n")
    done = hornbeam_("serve", model)
    assert done.code == 2
    assert "--facts" in done.stderr


def test_a_wrong_program_is_refused_with_its_place(tmp_path: Path) -> None:
    rules, data = tmp_path / "wrong.psl", tmp_path / "wrong.data"
    rules.write_text("1: P(A) -> \n")
    data.write_text("predicates:\n  P/1: open\n")
    done = hornbeam_("serve", rules)
    assert done.code == 2
    assert "wrong.psl, line 1" in done.stderr
