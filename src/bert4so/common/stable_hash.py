"""Randomness that is the same on every machine and in every version of Python."""

from hashlib import sha256


def stable_hash(*key: int | str) -> bytes:
    """A random number that is a pure function of the key: to sort by it is to shuffle.

    A hash, not a generator: generators may change their algorithm, and have a state to lose.
    """
    return sha256("\0".join(map(str, key)).encode(errors="surrogatepass")).digest()
