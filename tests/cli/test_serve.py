"""`hornbeam serve` as a command: what it says, what it refuses, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

import hornbeam as hb
from tests.support.commands import (
    COUNTRIES,
    EVIDENCE,
    PATIENCE,
    TEST,
    TRAIN,
    command,
    hornbeam_,
    process,
    write,
)

pytest.importorskip("starlette")
CLIENT = Path(__file__).parents[2] / "examples" / "service_client.py"


@contextmanager
def started(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The running command and the line in which it says where it is."""
    with subprocess.Popen(
        command("serve", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline()
        finally:
            if running.poll() is None:
                running.kill()


def page(port: int, path: str = "/", host: str = "127.0.0.1") -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"host": host})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


@pytest.mark.slow
def test_it_says_where_it_is_and_stops_at_ctrl_c(countries_model: Path) -> None:
    words = (countries_model, *EVIDENCE, *TEST, "--port", 0, "--json")
    with started(*words) as (running, line):
        told = json.loads(line)
        assert told["url"] == f"http://127.0.0.1:{told['port']}/"
        assert told["token"] is None
        status, text = page(told["port"], "/entity?name=algeria")
        assert status == 200
        assert "africa" in text
        # one who never finishes a request does not hold it up
        with socket.create_connection(("127.0.0.1", told["port"])) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\n")
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=PATIENCE)
        assert running.returncode == 0
        assert out == ""
        assert [line for line in err.splitlines() if not line.startswith("Compiling")] == [
            "Stopped."
        ]


@pytest.mark.slow
def test_a_person_reads_the_address(countries_model: Path) -> None:
    words = (countries_model, *EVIDENCE, "--port", 0, "--host", "0.0.0.0", "--quiet")
    with started(*words) as (running, line):
        assert line.startswith("Hornbeam is at http://127.0.0.1:")
        address, _, token = line.strip().partition("/?token=")
        port = int(address.rpartition(":")[2])
        assert len(token) >= 32
        assert page(port)[0] == 401
        assert page(port, f"/?token={token}")[0] == 303
        assert page(port, host="evil.example")[0] == 421
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=PATIENCE)
        assert running.returncode == 0


#: A server of one model, whose predictions take three seconds and go to a process of their own.
SLOW_SERVER = """
import time
import hornbeam as hb
from hornbeam.base.progress import SILENT
from hornbeam.scoring.scored_links import RuleScorer
from hornbeam.serve.guard import Access
from hornbeam.serve.pair_explorers import open_rule_explorer
from hornbeam.serve.server import listen, run
from hornbeam.serve.web_app import WebApp

predict = RuleScorer.predict
RuleScorer.predict = lambda *given: time.sleep(3) or predict(*given)
model = hb.Model.parse("1: p(A, B) -> t(A, B)")
explorer = open_rule_explorer(hb.read_facts([("a", "p", "b")]), model, threads=1)
opened = listen("127.0.0.1", 0)
port = opened.getsockname()[1]
app = WebApp(explorer, Access("127.0.0.1", port, None))
try:
    run(app, opened, lambda: print(port, flush=True), SILENT)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_server_that_is_asked_to_stop_answers_what_it_was_asked() -> None:
    """A manager of services sends SIGTERM to all processes of a service."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_SERVER], stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        port = int(running.stdout.readline())
        while not children(running.pid):
            assert running.poll() is None
            time.sleep(0.05)
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("POST", "/api/v1/predict", '{"pairs": [["a", "b"]]}')
        time.sleep(0.5)
        os.killpg(running.pid, signal.SIGTERM)
        reply = connection.getresponse()
        assert reply.status == 200
        assert json.loads(reply.read())["scores"][0]["subject"] == "a"
        connection.close()
        assert running.communicate(timeout=PATIENCE)[0] == "stopped\n"
    assert running.returncode == 0


@pytest.mark.slow
def test_a_token_in_a_file_stays_out_of_the_log(tmp_path: Path) -> None:
    model, facts, token = tmp_path / "model.psl", tmp_path / "facts.tsv", tmp_path / "token"
    token.write_text("a-token-of-many-letters\n")
    model.write_text("1: p(A, B) -> t(A, B)\n")
    write(facts, [("a", "p", "b")])
    words = (model, "--facts", facts, "--port", 0, "--quiet", "--token-file", token)
    with started(*words) as (_, line):
        port = int(line.rstrip("/\n").rpartition(":")[2])
        assert line == f"Hornbeam is at http://127.0.0.1:{port}/\n"
        assert page(port)[0] == 401
        assert page(port, "/?token=a-token-of-many-letters")[0] == 303


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [False, True])
def test_a_signal_reloads_model_and_facts(tmp_path: Path, quiet: bool) -> None:
    model, facts = tmp_path / "model.psl", tmp_path / "facts.tsv"
    token = tmp_path / "token"
    token.write_text("a-token-of-many-letters\n")
    model.write_text("1: p(A, B) -> t(A, B)\n")
    write(facts, [("a", "p", "b")])
    words = [model, "--facts", facts, "--port", 0, "--json", "--token-file", token]
    with started(*words, *["--quiet"] * quiet) as (running, line):
        port = json.loads(line)["port"]

        def told() -> tuple[int, int]:
            connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            known = {"authorization": "Bearer a-token-of-many-letters"}
            connection.request("GET", "/api/v1/model", headers=known)
            values = json.loads(connection.getresponse().read())
            connection.close()
            return values["rules"], values["facts"]

        def until(wanted: tuple[int, int]) -> None:
            end = time.monotonic() + PATIENCE
            while told() != wanted:
                assert time.monotonic() < end, told()
                time.sleep(0.1)

        until((1, 1))
        model.write_text("1: p(A, B) -> t(A, B)\n2: !t(A, B)\n")
        write(facts, [("a", "p", "b"), ("b", "p", "c")])
        running.send_signal(signal.SIGHUP)
        until((2, 2))
        model.write_text("1: p(A, B")
        running.send_signal(signal.SIGHUP)
        assert running.stderr is not None
        said = [running.stderr.readline()]
        while said[-1] and "nothing was reloaded: " not in said[-1]:
            said.append(running.stderr.readline())
        assert told() == (2, 2)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE)
    assert ("Reloaded.\n" in said) is not quiet
    assert said[-1].startswith("hornbeam: warning: nothing was reloaded: ")
    assert running.returncode == 0


WORLD = [("ann", "knows", "bob"), ("bob", "trusts", "dora"), ("bob", "knows", "eve")]
SERVED = {
    "rules": "2.0: knows(A, B) & trusts(B, C) -> trusts(A, C)\n1.0: !trusts(A, B)\n",
    "graph": '# hornbeam-graph: {"format": 3, "features": ["best"], "weights": [1.0],'
    ' "ridge": null, "constants": false, "backward": false, "slots": false, "pool": 50,'
    ' "max_length": 3, "calibration": {"slope": 1.0, "intercept": 0.0},'
    ' "linked": {"train": 0.0, "valid": null}, "seed": 0, "chosen": {}, "predicates": {}}\n'
    '## trusts(X, Y), Y is asked for: {"queries": 9}\n'
    "0.5: knows(X, A) & trusts(A, Y) -> trusts(X, Y) [5 of 5]\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(SERVED))
def test_the_client_of_the_documentation_asks_a_real_server(kind: str, tmp_path: Path) -> None:
    """The script that the documentation shows, and mistakes that it would not make."""
    model, facts, token = tmp_path / "model", tmp_path / "facts.tsv", tmp_path / "token"
    model.write_text(SERVED[kind])
    token.write_text("a-token-of-many-letters\n")
    write(facts, WORLD)
    words = (model, "--facts", facts, "--port", 0, "--json", "--token-file", token)
    with started(*words) as (_, line):
        url = json.loads(line)["url"].partition("?")[0]

        def asked(*more: object) -> subprocess.CompletedProcess[str]:
            whole = [sys.executable, str(CLIENT), url, *map(str, more)]
            return subprocess.run(
                whole, capture_output=True, text=True, timeout=PATIENCE, check=False
            )

        ended = asked("ann", "trusts", "dora", "--token-file", token)
        assert ended.returncode == 0, ended.stderr
        known = hb.load(model)
        [score] = known.predict(WORLD, [("ann", "trusts", "dora")])["score"]
        [best, *_] = known.rank(WORLD, [("ann", "trusts", "?")])["object"]
        told = ended.stdout.splitlines()
        assert told[0].startswith(f"model: {type(known).__name__}, ")
        assert float(told[1].removeprefix("trusts(ann, dora): ")) == pytest.approx(score, abs=1e-9)
        assert told[2].endswith(f"  {best}")
        assert any(row.startswith("because knows(") for row in told)
        for mistaken, message in (
            (("ann", "trusts", "dora"), "401: Expected the header `Authorization: Bearer TOKEN`."),
            (("ann", "no such", "dora", "--token-file", token), "404: "),
            (("nobody", "trusts", "dora", "--token-file", token), "404: "),
            (("?", "trusts", "dora", "--token-file", token), "400: "),
        ):
            ended = asked(*mistaken)
            assert ended.returncode == 1
            assert ended.stderr.startswith(message), ended.stderr
            assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_port_that_is_taken_is_told_before_anything_is_read(countries_model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = process("serve", countries_model, "--facts", "no-such-file.tsv", "--port", port)
    assert ended.code == 2
    assert ended.stdout == ""
    assert ended.told == [
        f"hornbeam: port {port} is taken by another program: try --port 0 for a free one"
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--host", "no.such.host.invalid"], "cannot listen on --host 'no.such.host.invalid'"),
        (["--host", "8.8.8.8"], "'8.8.8.8' is not an address of this machine: try --host 0.0.0.0"),
        (["--token", "short"], "the token needs at least 16"),
        (["--token-file", "no-such-file"], "no-such-file: cannot be read"),
        (["--token", "x" * 20, "--token-file", "y"], "--token and --token-file exclude each other"),
        (["--compare", "no-such-model.psl"], "no-such-model.psl: cannot be read"),
        (["--facts", "no-such-file.tsv"], "no-such-file.tsv"),
        (["--labels", "no-such-file.tsv"], "no-such-file.tsv"),
        (["--port", "99999"], "65535"),
    ],
)
def test_what_it_refuses(countries_model: Path, words: list[str], told: str) -> None:
    ended = hornbeam_("serve", countries_model, *EVIDENCE, "--port", 0, *words)
    assert ended.code == 2
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.fixture(scope="module")
def collective(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collective model of the countries."""
    path = tmp_path_factory.mktemp("collective") / "together.psl"
    assert (
        hornbeam_(
            "learn", *EVIDENCE, *TRAIN, "--collective", "--collective-method", "map", "-o", path
        ).code
        == 0
    )
    return path


@pytest.mark.slow
def test_a_collective_model_shows_what_predict_and_explain_say(collective: Path) -> None:
    test = COUNTRIES / "fold0" / "test.tsv"
    expected = {
        (row[0], row[2]): f"{float(row[3]):.3f}"
        for row in hornbeam_("predict", collective, *EVIDENCE, "--pairs", test).rows
    }
    words = (collective, *EVIDENCE, *TEST, "--pairs", test, "--port", 0, "--json", "--quiet")
    with started(*words) as (_, line):
        port = json.loads(line)["port"]
        shown: dict[tuple[str, str], str] = {}
        for number in (1, 2, 3):
            text = page(port, f"/pairs?page={number}")[1]
            rows = re.findall(
                r"subject=([^&]+)&amp;relation=located_in&amp;object=([^\"]+)\".*?"
                r"class=\"number\">([0-9.]+)<",
                text,
                flags=re.DOTALL,
            )
            shown |= {(subject, object_): score for subject, object_, score in rows}
        assert shown == expected
        status, text = page(port, "/link?subject=ukraine&predicate=located_in&object=europe")
        assert status == 200
        assert ">inferred 1<" in text
        figures = hornbeam_("evaluate", collective, *EVIDENCE, *TEST, "--json").json
        assert f">{figures['auc_roc']:.3f}<" in page(port, "/rules")[1]
    for subject, object_ in (("ukraine", "europe"), ("belize", "americas")):
        found = hornbeam_("explain", collective, *EVIDENCE, "--pairs", test, subject, object_,
                          "--json").json  # fmt: skip
        assert f"{found['score']:.3f}" == expected[subject, object_]


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), TEST], ids=["alone", "with labels"])
def test_a_collective_model_needs_its_pairs(
    collective: Path, countries_model: Path, more: tuple[object, ...]
) -> None:
    for words in ((collective,), (countries_model, "--compare", collective)):
        ended = hornbeam_("serve", *words, "--facts", "not-read-yet.tsv", *more, "--port", 0)
        assert ended.code == 2
        assert ended.told == [
            f"hornbeam: {collective}: the model is collective: its scores depend on all pairs "
            "that are scored together; name them with --pairs"
        ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("ukraine",)], "pairs.tsv, line 1"),
        ([], "pairs.tsv"),
    ],
    ids=["too few columns", "empty"],
)
def test_wrong_pairs(
    collective: Path, tmp_path: Path, rows: list[tuple[str, ...]], told: str
) -> None:
    pairs = write(tmp_path / "pairs.tsv", rows)
    ended = hornbeam_("serve", collective, *EVIDENCE, "--pairs", pairs, "--port", 0)
    assert ended.code == 2
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_a_collective_model_does_not_take_soft_facts(collective: Path, tmp_path: Path) -> None:
    soft = write(tmp_path / "soft.tsv", [("ukraine", "neighbour", "poland", 0.5)])
    pairs = write(tmp_path / "pairs.tsv", [("ukraine", "located_in", "europe")])
    ended = hornbeam_("serve", collective, "--facts", soft, "--pairs", pairs, "--port", 0)
    assert ended.code == 2
    assert "round the facts" in ended.stderr


def test_without_its_libraries_it_says_what_to_install(
    countries_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("hornbeam.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
        for part in [part for part in sys.modules if part.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, part)
    ended = hornbeam_("serve", countries_model, *EVIDENCE)
    assert ended.code == 2
    assert ended.told == [
        "hornbeam: hornbeam serve needs an optional library: pip install 'hornbeam[serve]'"
    ]


def test_help_has_an_example() -> None:
    ended = hornbeam_("serve", "-h")
    assert ended.code == 0
    assert "hornbeam serve model.psl" in ended.stdout
    assert "--json" in ended.stdout


@pytest.mark.slow
def test_names_are_shown(tmp_path: Path, countries_model: Path) -> None:
    names = write(tmp_path / "names.tsv", [("peru", "República del Perú", "country")])
    with started(countries_model, *EVIDENCE, "--names", names, "--port", 0, "--json") as (_, line):
        port = json.loads(line)["port"]
        assert "República del Perú" in page(port, "/entity?name=peru")[1]
        assert "/entity?name=peru" in page(port, "/search?q=republica")[1]


def children(process: int) -> set[int]:
    return set(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def is_running(process: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_server(countries_model: Path, how: signal.Signals) -> None:
    words = (countries_model, *EVIDENCE, *TEST, "--port", 0, "--json", "--quiet")
    with started(*words) as (running, line):
        while not (makers := children(running.pid)):
            assert running.poll() is None
            time.sleep(0.05)
        assert page(json.loads(line)["port"], "/rules")[0] == 200
        running.send_signal(how)
        running.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while any(map(is_running, makers)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(map(is_running, makers))


@pytest.mark.slow
def test_a_program_of_two_files_is_served_and_stops_at_ctrl_c(tmp_path: Path) -> None:
    rules = tmp_path / "friends.psl"
    rules.write_text("2: Knows(A, B) -> Likes(A, B) ^2\n1: !Likes(A, B) ^2\n")
    (tmp_path / "friends.data").write_text(
        "predicates:\n  Knows/2: closed\n  Likes/2: open\n"
        "observations:\n  Knows: knows.tsv\ntargets:\n  Likes: likes.tsv\n"
    )
    write(tmp_path / "knows.tsv", [("ann", "bob")])
    write(tmp_path / "likes.tsv", [("ann", "bob"), ("bob", "ann")])
    with started(rules, "--port", 0, "--json") as (running, line):
        port = json.loads(line)["port"]
        status, text = page(port, "/atom.json?predicate=Likes&a1=ann&a2=bob")
        assert status == 200
        told = json.loads(text)
        assert told["value"] == pytest.approx(2 / 3)
        assert told["pull_up"] == pytest.approx(told["pull_down"]) == pytest.approx(4 / 3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    assert (running.returncode, out) == (0, "")
    assert [line for line in err.splitlines() if not line.startswith("Compiling")] == ["Stopped."]
