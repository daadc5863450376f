"""Names for the types of arrays that the whole package passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Numbers of any kind.
Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
#: Integers of any width.
Integers = npt.NDArray[np.integer]
#: Row numbers, as `flatnonzero` and `argsort` give them.
Positions = npt.NDArray[np.intp]
Unsigned = npt.NDArray[np.uint32]
#: Ids of entities and predicates (their ranks in a table of names), and other 32-bit numbers.
Ids = npt.NDArray[np.int32]
#: Truth values as integers in units of one millionth.
Millionths = npt.NDArray[np.int32]
#: Whole relation sequences packed into one number each.
Keys = npt.NDArray[np.uint64]
