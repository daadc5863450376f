"""Headers are understood by name, columns are what the user says, and doubtful lines are told."""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.errors import DataError, HornbeamWarning, InputError
from hornbeam.facts.reading.readers import Input

FACTS = [("aspirin", "treats", "pain"), ("ibuprofen", "treats", "fever")]
GENES = {"subject": "gene", "predicate": "relation", "object": "disease"}


def written(folder: Path, *lines: str, name: str = "facts.csv") -> str:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def rows(facts: hb.Facts) -> list[tuple[str, str, str]]:
    table = facts.binary
    return sorted(
        (facts.entities[s], facts.predicates[p], facts.entities[o])
        for p, s, o in zip(table.predicate.tolist(), *map(list, table.arguments), strict=True)
    )


@pytest.mark.parametrize(
    "header",
    [
        "h,r,t", "S,P,O", "source,type,target", ":START_ID,:TYPE,:END_ID",
        "gene:START_ID,:TYPE,:END_ID",
        "person id:START_ID,:TYPE,to:END_ID{id-type:long}",
        "_start,_type,_end", "src,rel,dst",
        "subject_id,predicate,object_id", "entity1,relationship,entity2", "head,relation,tail",
    ],
)  # fmt: skip
def test_recognisable_headers_are_understood_by_name(tmp_path: Path, header: str) -> None:
    lines = [",".join(row) for row in FACTS]
    assert rows(hb.read_facts(written(tmp_path, header, *lines))) == FACTS


def test_columns_stand_in_any_order(tmp_path: Path) -> None:
    lines = [f"{s},{o},{p}" for s, p, o in FACTS]
    path = written(tmp_path, ":START_ID,:END_ID,:TYPE", *lines)
    assert rows(hb.read_facts(path)) == FACTS


def test_properties_in_an_export_of_neo4j_are_left_out_and_named(tmp_path: Path) -> None:
    lines = [f"{s},2001,{o},{p},x" for s, p, o in FACTS]
    path = written(tmp_path, ":START_ID,since:int,:END_ID,:TYPE,note", *lines)
    with pytest.warns(HornbeamWarning, match="left out: 'since:int', 'note'"):
        assert rows(hb.read_facts(path)) == FACTS
    with pytest.raises(DataError, match="unknown column 'since'"):
        hb.read_facts(written(tmp_path, "start,since,end,type", "a,2001,b,p"))


def test_a_plain_word_gives_way_to_a_clear_one(tmp_path: Path) -> None:
    """`type` is a predicate only where nothing else is."""
    path = written(tmp_path, "subject,predicate,object,type", "a,p,b,x")
    assert len(hb.read_pairs(path)) == 1
    with pytest.raises(DataError, match=r"unknown column 'type'.*`columns`"):
        hb.read_facts(path)


def test_letters_are_names_in_tsv_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    path = written(tmp_path, "h\tr\tt", "a\tp\tb", name="facts.tsv")
    assert rows(hb.read_facts(path)) == [("a", "p", "b"), ("h", "r", "t")]
    assert rows(hb.read_facts(path, header=True)) == [("a", "p", "b")]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("facts.csv", ["s,r,t", "t,r,u"]),
        ("facts.csv", ["h,r,t", "a,p,b", "c,q,t"]),
        ("facts.tsv", ["event:start\ttype\tevent:end", "event:end\ttype\tevent:stop"]),
        ("facts.tsv", ["event:start\ttype\tevent:end", "a\tp\tb"]),
        ("facts.csv", ["x:start_id,:type,y:end_id", "a,p,b"]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*none of its fields:hornbeam.errors.HornbeamWarning")
@pytest.mark.filterwarnings("ignore:.*occurs again:hornbeam.errors.HornbeamWarning")
def test_a_first_fact_of_words_of_headers_stays(
    tmp_path: Path, name: str, lines: list[str]
) -> None:
    path = written(tmp_path, *lines, name=name)
    assert rows(hb.read_facts(path)) == sorted(
        tuple(line.replace("\t", ",").split(",")) for line in lines
    )
    assert len(hb.read_pairs(path)) == len(lines)
    with hb.open_duckdb(path) as engine:
        assert set(engine.predicates) == {
            predicate for _, predicate, _ in rows(hb.read_facts(path, header=False))
        }


@pytest.mark.parametrize("line", ["source,type,target", "subject,predicate,object"])
def test_a_header_whose_word_occurs_again_is_a_fact_and_told(tmp_path: Path, line: str) -> None:
    last = line.rpartition(",")[2]
    path = written(tmp_path, line, "a,p,b", f"c,q,{last}")
    with pytest.warns(HornbeamWarning, match=f"a fact, since '{last}' occurs again") as w:
        assert len(hb.read_facts(path)) == 3
    [said] = w
    assert "`header=False`" in str(said.message)
    assert len(hb.read_facts(path, header=True)) == 2
    assert len(hb.read_facts(path, header=False)) == 3


def test_a_header_that_is_not_understood_is_refused_where_there_must_be_one(tmp_path: Path) -> None:
    path = written(tmp_path, "gene,relation,disease", "a,p,b")
    with pytest.raises(DataError, match=r"line 1: unknown header; .*`columns` subject=gene,"):
        hb.read_facts(path, header=True)
    assert len(hb.read_facts(path, header=True, columns=GENES)) == 1


def test_named_columns_leave_a_column_of_labels_its_own_name(tmp_path: Path) -> None:
    path = written(tmp_path, "gene,note,relation,disease,label", "a,x,p,b,1", "c,y,p,d,0")
    labels = hb.read_labels(path, columns=GENES).millionths
    assert labels is not None
    assert sorted(labels.tolist()) == [0, 1_000_000]
    doubtful = written(tmp_path, "gene,relation,disease,label,value", "a,p,b,1,0")
    with pytest.raises(DataError, match="no labels found"):
        hb.read_labels(doubtful, columns=GENES)


@given(
    names=st.lists(st.tuples(*[st.sampled_from(["h", "r", "t", "s", "a"])] * 3), min_size=2),
)
def test_of_letters_a_first_line_is_a_header_only_if_no_letter_occurs_again(
    names: list[tuple[str, str, str]],
) -> None:
    means = {"h": "a1", "s": "a1", "r": "predicate", "t": "a2"}
    first, *others = names
    named = {means.get(letter) for letter in first} == {"a1", "predicate", "a2"}
    again = any(a == b for other in others for a, b in zip(first, other, strict=True))
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        found = len(hb.read_pairs(written(Path(folder), *map(",".join, names))))
    assert found == len(names) - (named and not again)


def test_a_frame_of_other_columns_is_told(tmp_path: Path) -> None:
    """It is read by the order of its columns, and the advice is that for CSV."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"film": ["a", "b"], "year": [1995, 1996], "genre": ["c", "d"]})
    frame.to_parquet(tmp_path / "films.parquet")
    frame.to_csv(tmp_path / "films.csv", index=False)
    for given_ in (frame, tmp_path / "films.parquet", tmp_path / "films.csv"):
        with pytest.warns(HornbeamWarning) as w:
            hb.read_facts(given_)
        [said] = w
        assert "`columns` subject=film,predicate=year,object=genre" in str(said.message)
    assert "the columns 'film', 'year', 'genre' are read by their order" in _warning_of(frame)


@pytest.mark.parametrize("names", [[0, 1, 2], ["column_0", "column_1", "column_2"]])
def test_a_frame_of_nameless_columns_is_not(names: list[object]) -> None:
    pandas = pytest.importorskip("pandas")
    assert rows(hb.read_facts(pandas.DataFrame(FACTS, columns=names))) == FACTS


def _warning_of(frame: Input) -> str:
    with pytest.warns(HornbeamWarning) as w:
        hb.read_facts(frame)
    return str(w[0].message)


def test_the_user_says_which_column_is_which(tmp_path: Path) -> None:
    lines = [f"1,{o},{s},{p},0.5" for s, p, o in FACTS]
    path = written(tmp_path, "id,disease,gene,relation,score", *lines)
    assert rows(hb.read_facts(path, columns=GENES)) == FACTS
    labels = hb.read_labels(path, columns=GENES | {"value": "score"})
    assert labels.truth.tolist() == [0.5, 0.5]
    assert len(hb.read_pairs(path, columns=GENES)) == 2
    with hb.open_duckdb(path, columns=GENES) as engine:
        assert list(engine.predicates) == ["treats"]


def test_so_it_does_of_frames_and_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(FACTS, columns=["gene", "relation", "disease"]).iloc[:, ::-1]
    assert rows(hb.read_facts(frame, columns=GENES)) == FACTS
    path = tmp_path / "facts.parquet"
    frame.to_parquet(path)
    assert rows(hb.read_facts(path, columns=GENES)) == FACTS


def test_files_without_these_columns_are_read_as_they_are(tmp_path: Path) -> None:
    other = written(tmp_path, "a\tp\tb", name="more.tsv")
    path = written(tmp_path, "gene,relation,disease", "x,q,y")
    assert rows(hb.read_facts(path, other, columns=GENES)) == [("a", "p", "b"), ("x", "q", "y")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"subject": "gnee", **{k: v for k, v in GENES.items() if k != "subject"}},
         "line 1: no column 'gnee'; found gene, relation, disease. Did you mean 'gene'?"),
        ({"subject": "gene"}, "no column for the predicate"),
        ({**GENES, "weight": "w"}, "unknown place 'weight'"),
        ({**GENES, "object": "gene"}, "one column for two places"),
    ],
)  # fmt: skip
def test_wrong_columns_are_refused(tmp_path: Path, columns: dict[str, str], message: str) -> None:
    path = written(tmp_path, "gene,relation,disease", "x,q,y")
    with pytest.raises(InputError) as caught:
        hb.read_facts(path, columns=columns)
    assert message in str(caught.value)


def test_a_first_line_like_no_other_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "gene,relation,disease", "x,q,y", "x,q,z")
    with pytest.warns(
        HornbeamWarning, match="line 1: 'gene,relation,disease' is read as a fact"
    ) as w:
        assert len(hb.read_facts(path)) == 3
    [said] = w
    assert said.filename == __file__
    assert "`columns` subject=gene,predicate=relation,object=disease" in str(said.message)
    assert "`header=False`" in str(said.message)


def test_the_columns_to_say_are_those_of_the_file(tmp_path: Path) -> None:
    """With spaces in their names, and with one more than a fact has."""
    path = written(tmp_path, "Gene name,what?,Disease,note", "x,q,y,n1", "x,q,z,n2")
    with (
        pytest.warns(HornbeamWarning) as w,
        pytest.raises(InputError, match="expected a truth value"),
    ):
        hb.read_facts(path)
    [said] = w
    assert "`columns` 'subject=Gene name,predicate=what?,object=Disease'." in str(said.message)


@pytest.mark.parametrize(
    "lines",
    [
        ["a,p,b"],  # nothing to compare with
        ["a,p,b", "c,p,d"],  # the predicate occurs again
        ["x,q,y", "a,p,b", "x,p,b"],  # as late as that
        ["a,p,b,1", "c,q,d,0.5"],  # a value is no name of a column
    ],
)
def test_other_first_lines_are_not(tmp_path: Path, lines: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hb.read_facts(written(tmp_path, *lines))) == len(lines)


def test_no_header_reads_everything_as_facts(tmp_path: Path) -> None:
    path = written(tmp_path, "subject,predicate,object", "x,q,y")
    assert len(hb.read_facts(path)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(hb.read_facts(path, header=False)) == 2
    with pytest.raises(InputError, match="leave out"):
        hb.read_facts(path, header=False, columns=GENES)
