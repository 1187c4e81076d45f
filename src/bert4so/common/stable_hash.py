"""Pseudo-random numbers that are the same on every machine and in every version of Python."""

from hashlib import sha256


def stable_hash(*key: int | str) -> bytes:
    """A pseudo-random number that depends only on the key; sorting by it shuffles.

    A hash instead of a random number generator: the algorithms of generators may change between
    versions, and a generator has a state to save and restore.
    """
    return sha256("\0".join(map(str, key)).encode(errors="surrogatepass")).digest()
