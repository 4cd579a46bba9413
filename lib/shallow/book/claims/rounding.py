"""When two printed texts say the same: processors differ in the last bits, and so in a rounded digit now and then."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal

#: A decimal number, or an integer number of percent.  Other integers are counts, labels or parameters, and exact.
ROUNDED = re.compile(r"(?<![\w.])-?(?:\d+\.\d+(?!\.?\d)|\d+(?= ?%))")


def settled(text: str, expected: str) -> str:
    """A text in which rounded numbers are those of `expected` where they differ by at most one unit of the last digit.

    A number of one significant digit has to be equal, since one unit could double it; so has a zero, but for its sign.
    Numbers are paired in their order, and only between texts that are equal apart from them; all else stays as it is,
    so that ``settled(text, expected) == expected`` says that two texts agree up to rounding.
    """
    numbers, known = ROUNDED.findall(text), ROUNDED.findall(expected)
    between = ROUNDED.split(text)
    if between != ROUNDED.split(expected):
        return text
    chosen = [b if _close(a, b) else a for a, b in zip(numbers, known, strict=True)]
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(between, chosen, fillvalue="")))


def _close(number: str, expected: str) -> bool:
    a, b = Decimal(number), Decimal(expected)
    last = b.as_tuple().exponent
    several = min(len(a.as_tuple().digits), len(b.as_tuple().digits)) > 1
    return a.as_tuple().exponent == last and abs(a - b) <= several * Decimal(1).scaleb(last)
