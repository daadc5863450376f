"""Tables on the command line: wherever facts stand, for every engine."""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam.errors import HornbeamNote, HornbeamWarning
from tests.support.commands import Ended, hornbeam_

FILMS = "film,by,year\n" + "".join(f"f{i},p{i % 4},{1990 + i}\n" for i in range(24))
PEOPLE = "person\tlives_in\n" + "".join(f"p{i}\t{('rome', 'oslo')[i % 2]}\n" for i in range(4))
LABELS = [
    (f"f{i}", city, int(i % 2 == (city == "oslo"))) for i in range(24) for city in ("rome", "oslo")
]
TABLES = (
    "--table",
    "films.csv",
    "--key",
    "film",
    "--table",
    "person=people.tsv",
    "--key",
    "person",
)
SAID = ("--link", "by=person", "--type", "year=number")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    texts = {
        "films.csv": FILMS,
        "people.tsv": PEOPLE,
        "labels.tsv": "".join(f"{film}\tshot_in\t{city}\t{y}\n" for film, city, y in LABELS),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def candidates(*given: str) -> Ended:
    options = ("--labels", "labels.tsv", "--max-length", "2", "--min-coverage", "1", "--json")
    return hornbeam_("candidates", *given, *options)


def test_engines_find_the_same_rules_in_tables(folder: Path) -> None:
    plain = (
        "".join(
            f"{cells[0]}\tby\t{cells[1]}\n"
            for cells in (row.split(",") for row in FILMS.split()[1:])
        )
        + PEOPLE.replace("\t", "\tlives_in\t").partition("\n")[2]
    )
    (folder / "plain.tsv").write_text(plain)
    asked = candidates("--facts", "plain.tsv").json["candidates"]
    assert [rule["clause"] for rule in asked] == ["by(A, B) & lives_in(B, C) -> shot_in(A, C)"]
    for engine in ("memory", "duckdb"):
        found = candidates(*TABLES, *SAID, "--engine", engine, "--bodies", "paths")
        assert found.json["candidates"] == asked


def test_all_commands_take_tables(folder: Path) -> None:
    tables = (*TABLES, *SAID)
    learned = hornbeam_("learn", *tables, "--labels", "labels.tsv", "-o", "model.psl")
    assert learned.code == 0, learned.stderr
    assert "by(A, B) & lives_in(B, C) -> shot_in(A, C)" in (folder / "model.psl").read_text()
    judged = hornbeam_("evaluate", "model.psl", *tables, "--labels", "labels.tsv", "--json")
    assert judged.json["auc_roc"] == 1.0
    assert hornbeam_("explain", "model.psl", *tables, "f1", "oslo").code == 0
    proposed = hornbeam_("predict", "model.psl", *tables, "--subject", "f2", "--top", "1")
    assert proposed.code == 0
    folds = ("crossval", *tables, "--labels", "labels.tsv", "--folds", "2", "--methods", "joint")
    assert hornbeam_(*folds).code == 0
    written = hornbeam_("export", "model.psl", *tables, "--pairs", "labels.tsv", "-o", "program")
    assert written.code == 0


def test_folds_of_a_task_take_tables(folder: Path) -> None:
    (folder / "task" / "fold0").mkdir(parents=True)
    (folder / "task" / "observed.tsv").write_text("rome\tin\titaly\n")
    for name in ("train", "test"):
        (folder / "task" / "fold0" / f"{name}.tsv").write_text((folder / "labels.tsv").read_text())
    told = hornbeam_("crossval", "task", *TABLES, *SAID, "--methods", "joint", "--json")
    assert told.json["methods"]["joint"]["auc_roc"]["mean"] == 1.0
    typed = hornbeam_("crossval", "task", *TABLES, *SAID, "--arguments", "shot_in=film,city")
    assert (typed.code, "--arguments is for --facts and --labels" in typed.stderr) == (2, True)


def test_a_database_in_one_command(folder: Path) -> None:
    connection = sqlite3.connect(folder / "shop.db")
    connection.executescript(
        "CREATE TABLE person (id INTEGER PRIMARY KEY, lives_in TEXT);"
        "CREATE TABLE film (id INTEGER PRIMARY KEY, made INTEGER REFERENCES person, shot_in TEXT);"
        "INSERT INTO person VALUES (1, 'rome'), (2, 'oslo');"
        + "".join(
            f"INSERT INTO film VALUES ({i}, {1 + i % 2}, '{('rome', 'oslo')[i % 2]}');"
            for i in range(30)
        )
    )
    connection.close()
    given = ("learn", "--tables", "shop.db", "--target", "shot_in")
    told = hornbeam_(*given, "--max-length", "2", "-o", "m.psl")
    assert (told.code, "such as film:1 in shop.db" in told.stderr) == (0, True)
    assert "made(A, B) & lives_in(B, C) -> shot_in(A, C)" in (folder / "m.psl").read_text()
    plain = hornbeam_(*given, "--no-prefix", "-o", "m.psl")
    assert "are called after" not in plain.stderr
    assert hornbeam_(*given, "-o", "shop.db").code == 2


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("--table", "films.csv"), "give --key once for all tables, or once for each --table"),
        (("--table", "films.csv", "--key", "film", "--key", "x"), "give --key once for all"),
        (("--key", "film"), "--key is for --table and --tables"),
        (("--facts", "people.tsv", "--link", "by=x"), "--link is for --table and --tables"),
        (("--table", "films.csv", "--key", "flm"), "films.csv: --key: no column 'flm'; found"),
        ((*TABLES, "--link", "by=persons"), "--link: 'by' leads to the table 'persons', which is"),
        ((*TABLES, "--link", "bye=person"), "--link: no table has a column 'bye'. Did you mean"),
        ((*TABLES, "--link", "by"), "--link 'by': expected a column, = and what it is"),
        ((*TABLES, "--type", "yaer=number"), "--type: no table has a column 'yaer'"),
        ((*TABLES, "--type", "year=size"), "--type: 'year' is 'size'; expected name, number"),
        ((*TABLES, "--type", "by=number"), "films.csv, column 'by', line 2: expected a finite"),
        ((*TABLES, "--type", "year=date", "--type", "year=name"), "--type: 'year' is said to be"),
        (("--tables", "films.csv"), "films.csv: no database; expected a DuckDB or SQLite file"),
        (("--table", "none.csv", "--key", "x"), "none.csv: no such file"),
    ],
)
def test_mistakes_are_one_message(given: tuple[str, ...], problem: str) -> None:
    told = candidates(*given)
    assert told.code == 2
    assert problem in told.stderr
    assert "Traceback" not in told.stderr


def test_a_note_lists_columns_that_are_not_what_they_look_like(folder: Path) -> None:
    """Without it a yes/no column silently becomes links to "yes" and "no"."""
    (folder / "wide.csv").write_text(
        "who,age,left,since,zip\n"
        + "".join(f"c{i},{i},yes,2020-05-1{i} 08:30,x{i}\n" for i in range(9))
    )
    given = ("--table", "wide.csv", "--key", "who", "--labels", "labels.tsv")
    listed = "'age' (number), 'left' (boolean), 'since' (date). Say what they are by --type"
    assert listed in hornbeam_("candidates", *given).stderr
    said = [word for kind in ("age=number", "left=name", "since=date") for word in ("--type", kind)]
    assert "look like" not in hornbeam_("candidates", *given, *said).stderr


def test_a_target_of_yes_and_no_is_warned_of(folder: Path) -> None:
    """Also in Python, where notes are not shown, and wherever the facts come from."""
    rows = [(f"c{i}", "left", ("yes", "No")[i % 2]) for i in range(40)]
    rows += [(f"c{i}", "plan", ("gold", "basic")[i % 2]) for i in range(40)]
    with pytest.warns(HornbeamWarning, match="'left' leads to 'No' and 'yes' alone, and such"):
        hb.learn(rows, target="left")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", HornbeamNote)
        hb.learn(rows, target="plan")


def test_a_note_says_that_files_share_numbers_as_keys(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.csv").write_text("id,likes\n1,x\n2,y\n")
    given = ("--table", "a.csv", "--table", "b.csv", "--key", "id", "--labels", "labels.tsv")
    assert "a.csv and b.csv share keys such as '1'" in hornbeam_("candidates", *given).stderr
    for word in ("--prefix", "--no-prefix"):
        assert "share keys" not in hornbeam_("candidates", *given, word).stderr
