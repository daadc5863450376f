"""Prints the lowest allowed version of every dependency of pyproject.toml, as pip's constraints."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

#: Extras that only developers need: whatever version they have will do.
DEVELOPMENT = ("dev", "docs")


def lowest(requirements: list[str]) -> list[str]:
    """Pin what has a lower bound to it.

    >>> lowest(["numpy>=2.0,<3", "types-PyYAML"])
    ['numpy==2.0']
    """
    found = (re.match(r"([\w.-]+)>=([\d.]+)", one) for one in requirements)
    return [f"{one[1]}=={one[2]}" for one in found if one is not None]


def main() -> None:
    """Read the file beside, and print."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].items()
    listed = [one for name, some in extras if name not in DEVELOPMENT for one in some]
    print("\n".join(sorted(set(lowest([*project["dependencies"], *listed])))))


if __name__ == "__main__":
    main()
