"""Valid inputs that mutations begin with, by the name of their target in `fuzz_readers`."""

from __future__ import annotations

import gzip
import io
import sqlite3

import pyarrow as pa
import pyarrow.parquet as pq

FACTS = b"a\tp\tb\t1\nb\tq\ta\t0.25\nann lee\tstudent\n\n\xc3\xa9\tp\tb\t0.5\na\tp\tb\t1\n"
PLAIN = b"a\tp\tb\nb\tq\ta\nann lee\tstudent\nb\tp\t\xc3\xa9\n"
LABELS = b"a\tt\tb\t1\nb\tt\ta\t0\nann lee\tt\t\xc3\xa9\t0.25\n\nc\tt\td\t1\nd\tt\tc\t0.5\n"
PAIRS = b"a\tt\tb\nb\tt\ta\t1\nann lee\tt\t\xc3\xa9\n\na\tt\tb\n"
QUERIES = b"a\tt\t?\n?\tt\tb\nann lee\tt\t?\t1\n"
NAMES = b"id\tname\ttype\n/m/1\tRome\tcity\n/m/2\t\xc3\xa9 x\t\n/m/3\tPeru\n"
NUMBERS = b"a\tyear\t1990\nb\tyear\t-1.5e3\n\nann lee\tsize\t.5\n"
DATES = b"entity\tattribute\tvalue\na\tborn\t1931-05-04\n\xc3\xa9\tborn\t2000-02-29\n"
TABLE = b'film,year,shot,good,by\nheat,1995,1994-02-28,yes,"mann, m"\n\nalien,,,no,\n'
ARGUMENTS = b"a\tb\tc\nd\te\tf\n\nann lee\tb\t\xc3\xa9\n"


def _csv(table: bytes) -> bytes:
    return table.replace(b"\t", b",").replace(b"ann lee", b'"ann, ""lee"""')


def _parquet(table: bytes) -> bytes:
    rows = [line.split("\t") for line in table.decode().split("\n") if line.count("\t") == 2]
    columns = zip(("subject", "predicate", "object"), zip(*rows, strict=True), strict=True)
    written = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), written)
    return written.getvalue()


def _sqlite() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT, d DATE); "
        "CREATE TABLE b (id TEXT PRIMARY KEY, n REAL, a INTEGER REFERENCES a (id)); "
        "INSERT INTO a VALUES (1, 'x', '1990-01-01'); INSERT INTO b VALUES ('b', 1.5, 1);"
    )
    return connection.serialize()


MODEL = b"""# hornbeam: {"version": 1, "counts": "raw", "relaxation": "boolean"}
0.83: cites(A, B) & mentions(B, C) -> mentions(A, C)
0.5: cites(A, C) [n >= 3] & journal(B) -> !mentions(A, B) [log]
0.4: !mentions(A, B)
1.5: p(A, X) & q(X, B) -> mentions(A, B) [share / 0.5]
"""
SQUARED = b"""1: knows(A, B) & likes(B, C) -> likes(A, C) ^2
0.25: (A == 'c') & p(A, B) -> likes(A, B) ^2
0.5: genre(A, 'x y') -> likes(A, B) ^2
"""
COLLECTIVE = b"""# hornbeam: {"version": 1, "counts": "exists", \
"collective": "two-step", "threshold": 0.3}
0.5: cites(A, B) & believed_likes(B, C) -> likes(A, C) [log]
0.9: believed_likes(A, C) -> !likes(A, B)
# the first step: what is believed of each pair alone
2: knows(A, B) -> believed_likes(A, B)
1: !believed_likes(A, B)
"""
MAP = b"""# hornbeam: {"version": 1, "collective": "map", "predicates": {"likes": "likes it"}}
0.5: likes(A, B) & likes(B, C) -> likes(A, C)
1: !likes(A, B)
"""
GRAPH = b"""# hornbeam-graph: {"format": 2, "features": ["best", "noisy_or", "path_best"], \
"weights": [0.5, -1.25, 0.75], "ridge": null, "constants": true, "backward": true, "pool": 150, \
"max_length": 2, "calibration": {"slope": 0.9, "intercept": -0.1}, \
"linked": {"train": 0.5, "valid": null}, "seed": 0, "chosen": {"facts": 24}, \
"predicates": {"r_s": "r s"}, "end": "# end"}
# Per rule: confidence, rule, [hits of predictions, its own weight]. X is known.

## p(X, Y), Y is asked for: {"queries": 12, \
"weights": {"best": 0.1, "noisy_or": 0.25, "path_best": 1}}
0.5000: q(X, A) & r_s(Y, A) -> p(X, Y) [10 of 15, weight 0.25]
0.2353: q(A, X) -> p(X, 'c0') [4 of 12]

## p(Y, X), Y is asked for: {"queries": 3}

# end
"""
GRAPH_1 = b"""# hornbeam-graph: {"format": 1, "features": ["best", "noisy_or", "path_best"], \
"weights": [0.5, -1.25, 0.75], "ridge": null, "constants": true, "backward": true, "pool": 150, \
"max_length": 2, "calibration": {"slope": 0.9, "intercept": -0.1}, \
"linked": {"train": 0.5, "valid": null}, "seed": 0, "chosen": {"facts": 24}, "end": "# end"}
# Per rule: confidence, hits, predictions, weight (paths only), rule. X is known.

## p(X, Y), Y is asked for
queries\t12
weights\t{"best": 0.1, "noisy_or": 0.25, "path_best": -0.5}
0.5000\t10\t15\t0.25\tp(X, Y) <- q(X, A), "r s"(Y, A)
0.2353\t4\t12\tp(X, "c0") <- q(_, X)

## p(Y, X), Y is asked for
queries\t3
weights\t{"best": 0.1, "noisy_or": 0.25, "path_best": -0.5}

# end
"""
RULES = b"""1.0: Knows(A, B) & Likes(B, C) -> Likes(A, C) ^2
0.1: !Likes(A, B) ^2
Likes(A, +B) <= 1 .
2: Knows(A, B) & (A != B) >> Likes(A, B)
Likes(A, B) = Knows(B, A) .
"""
MORE_RULES = b"""// a comment
3: 2 * Likes(A, +B) / |B| + -1 Knows(A, C) >= 0.5 ^2 {B: Knows(B, C) & !Likes(B, 'x')} /* more */
0.5: Knows('a b', B) || Likes(B, "c") << (Likes(A, B) && A % B) ^2
@Max[1, 2] * Knows(A, B) <= 1 .
"""
PROGRAM = b"""{"rules": ["1.0: P(A) -> Q(A) ^2", "Q(A) <= 1 ."],
 "predicates": {"P/1": {"observations": [["a"], ["b", "0.5"]]}, "Q/1": {"targets": [["a"], ["b"]]}},
 "options": {"admmreasoner.epsilonabs": "1e-7"}}
"""
SPLIT = b"""{"predicates": {"P/2": {"observations": {"learn": [["a", "b"]],
 "infer": [["a", "c", 1]]}}, "Q/1": {"options": {"Integer": "true"}, "targets": [["a"]],
 "truth": [["a", 0.5]]}}, "infer": {"rules": ["P(A, B) -> Q(A) ."]}, "rules": []}
"""
YAML = b"""rules:
  - "1.0: P(A) -> Q(A) ^2"
predicates:
  P/1:
    observations: [[a], [b, 0.5]]
  Q/1:
    targets: [[a], [b]]
"""
OLD_DATA = b"""predicates:
  P/2: closed
  Q/1: open
observations:
  P : p.txt
targets:
  Q : q.txt
"""
TRACE = b"""{"method": "joint", "counts": "log", "targets": 4, "positives": 2, "found": null,
 "candidates": [{"clause": "p(A, B) -> t(A, B)", "coverage": 3, "coverage_true": 2, "paths": 3,
 "kept": true, "outcome": ""}], "seconds": {"load": 0.1}, "model": ""}
"""
TRIPLES = b"""<http://a> <http://p> <http://b> .
<http://b> <http://q> "x\\ty"@en .
_:c <http://p> _:d .
<http://b> <http://www.w3.org/2000/01/rdf-schema#label> "1"^^<http://x> . # more
"""
TURTLE = b"""@prefix : <http://x/> .
@base <http://y/> .
:a :p :b , "text"@en-GB ; a :C .
<z> :q ( 1 2.5 "x" ) , [ :r true ] .
"""
GRAPHML = b"""<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k" for="node" attr.name="born" attr.type="int"><default>3</default></key>
<key id="r" for="edge" attr.name="relation" attr.type="string"/>
<graph edgedefault="undirected"><node id="a"><data key="k">1990</data></node><node id="b"/>
<edge source="a" target="b" directed="true"><data key="r">knows</data></edge></graph></graphml>
"""
NODES = b"""id:ID(P),name,born:int,ok:boolean,on:date,tags:string[],:LABEL
a,Ann,1990,true,2000-01-01,x;y,P;Q
"""
APOC = b"_id,_labels,age,_start,_end,_type\n1,:P,4,,,\n2,:P,,,,\n,,,1,2,K\n"
ANYBURL = b"""103\t77\t0.7475\ttreats(X,Y) <= contains(X,A), treats(A,Y)
9\t3\t0.3\tp(X,Y) <= q(Y,X)
12\t4\t0.3\tp(X,c0) <= q(X,A)
"""
AMIE = b"""Rule\tHead Coverage\tStd Confidence
?a  <contains>  ?c  ?c  <treats>  ?b   => ?a  <treats>  ?b\t0.2\t0.7475\t0.8\t77\t103
?a  q  ?b   => ?a  p  ?b\t0.2\t0.7\t0.8\t7\t10
"""

SEEDS = {
    "numbers": (NUMBERS,),
    "dates": (DATES,),
    "table of entities": (TABLE,),
    "SQLite": (_sqlite(),),
    "facts.tsv": (FACTS, PLAIN),
    "facts.csv": (_csv(FACTS), _csv(PLAIN)),
    "labels.tsv": (LABELS,),
    "labels.csv": (_csv(LABELS),),
    "pairs.tsv": (PAIRS,),
    "pairs.csv": (_csv(PAIRS),),
    "queries.tsv": (QUERIES,),
    "queries.csv": (_csv(QUERIES),),
    "names.tsv": (NAMES,),
    "names.csv": (_csv(NAMES),),
    "arguments": (ARGUMENTS,),
    "gzipped facts": (FACTS, PLAIN),
    "gzip": (gzip.compress(FACTS, mtime=0), gzip.compress(PLAIN, mtime=0)),
    "facts in Parquet": (
        FACTS.replace(b"ann lee\tstudent\n", b""),
        PLAIN.replace(b"ann lee\t", b"ann lee\tis\t"),
    ),
    "parquet": (_parquet(PLAIN),),
    "N-Triples": (TRIPLES,),
    "N-Quads": (TRIPLES + b"<http://a> <http://p> <http://c> <http://graph> .\n",),
    "Turtle": (TURTLE, TRIPLES),
    "GraphML": (GRAPHML,),
    "Neo4j": (NODES, APOC, b":START_ID(P),:END_ID,:TYPE\na,b,K\n"),
    "program.json": (PROGRAM, SPLIT),
    "program.yaml": (YAML,),
    "PSL data": (b"a\tb\t1\nb\tc\t0.5\nann lee\t\xc3\xa9\t1\n",),
    "PSL 2 data": (OLD_DATA,),
    "model": (MODEL, SQUARED),
    "collective model": (COLLECTIVE, MAP),
    "graph model": (GRAPH, GRAPH_1),
    "rules": (RULES, MORE_RULES),
    "AnyBURL and AMIE": (ANYBURL, AMIE),
    "trace": (TRACE,),
}
