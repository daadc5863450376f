"""Ask a running `hornbeam serve`: scores, answers and reasons, with the standard library alone.

    python service_client.py http://127.0.0.1:8765 ann trusts dora [--token-file token]

Prints the score of the link, the best answers of (subject, relation, ?), and the reasons of the
best one. A mistake ends with the message of the service and exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class ServiceError(Exception):
    """What the service says about a request that it does not answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """A service, over one connection that stays open; `with` closes it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.headers = {"Content-Type": "application/json"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"
        # longer than the 30 seconds that the service gives a request
        self.connection = HTTPConnection(urlsplit(url).netloc, timeout=40)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, what: str, body: object = None) -> Any:  # noqa: ANN401
        """The answer of one endpoint: GET without a body, else POST."""
        text = None if body is None else json.dumps(body)
        method = "GET" if body is None else "POST"
        self.connection.request(method, f"/api/v1/{what}", text, self.headers)
        reply = self.connection.getresponse()
        values = json.loads(reply.read())
        if "error" in values:
            raise ServiceError(reply.status, values["error"]["message"])
        return values

    def scores(self, pairs: list[list[str]], batch: int = 10_000) -> list[float | None]:
        """Scores of any number of pairs, in batches as large as a request may be."""
        found: list[float | None] = []
        for start in range(0, len(pairs), batch):
            rows = self.ask("predict", {"pairs": pairs[start : start + batch]})["scores"]
            found += [row["score"] for row in rows]
        return found


def main() -> None:
    """Ask about one link, and print what the service answers."""
    parser = argparse.ArgumentParser(description="Ask a running `hornbeam serve`.")
    parser.add_argument("url")
    parser.add_argument("link", nargs=3, metavar=("SUBJECT", "RELATION", "OBJECT"))
    parser.add_argument("--token-file", type=Path)
    options = parser.parse_args()
    token = options.token_file and options.token_file.read_text().splitlines()[0]
    subject, relation, object_ = options.link
    try:
        with Service(options.url, token) as service:
            model = service.ask("model")
            print(f"{model['name']}: {model['kind']}, {model['rules']:,} rules, "
                  f"{model['facts']:,} facts")  # fmt: skip
            [score] = service.scores([options.link])
            print(f"{relation}({subject}, {object_}): {'no score' if score is None else score}")
            query = {"queries": [[subject, relation, "?"]], "top": 3}
            answers = service.ask("rank", query)["queries"][0]["answers"]
            for answer in answers:
                print(f"{answer['score']:.4f}  {answer['entity']}")
            if answers:
                link = [subject, relation, answers[0]["entity"]]
                for reason in service.ask("explain", {"link": link})["reasons"]:
                    print(f"because {reason['rule']}")
    except ServiceError as error:
        sys.exit(f"{error.status}: {error}")
    except OSError as error:
        sys.exit(f"{options.url} does not answer: {error}")


if __name__ == "__main__":
    main()
