"""Input for an XML parser that refuses files which could take gigabytes to parse."""

from typing import IO
from xml.parsers import expat

from bert4so.errors import UserError


class XmlInput:
    """A file of XML; refuses a DOCTYPE, whose entities may expand, and elements that are too long.

    limit: maximum number of bytes that may be read between calls of `reset`.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self.file = file
        self.limit = limit
        self.bytes_read = 0
        self.in_prolog = True
        self.prolog = expat.ParserCreate()
        self.prolog.StartDoctypeDeclHandler = self._refuse
        self.prolog.StartElementHandler = self._end_prolog

    def read(self, size: int = -1) -> bytes:
        """Read like a file; raises `UserError` for refused content."""
        block = self.file.read(size)
        self.bytes_read += len(block)
        if self.bytes_read > self.limit:
            raise UserError(f"an XML element with more than {self.limit:,} bytes")
        if self.in_prolog:
            self._read_prolog(block)
        return block

    def reset(self) -> None:
        """Restart the count: the elements so far are no longer in memory."""
        self.bytes_read = 0

    def _read_prolog(self, block: bytes) -> None:
        try:
            self.prolog.Parse(block)
        except UserError:  # a ValueError, too
            raise
        except (expat.ExpatError, LookupError, ValueError):
            self.in_prolog = False  # the actual parser will report the error

    def _end_prolog(self, *element: object) -> None:
        self.in_prolog = False

    def _refuse(self, *declaration: object) -> None:
        raise UserError("XML with a DOCTYPE is not allowed: remove the DOCTYPE")
