"""XML as it is given to a parser, refused where parsing it could take gigabytes."""

from typing import IO
from xml.parsers import expat

from bert4so.errors import UserError


class XmlInput:
    """A file of XML that has no DOCTYPE, whose entities may grow, and no endless element.

    limit: how many bytes may be read before `emptied` is called.
    """

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self.file = file
        self.limit = limit
        self.held = 0
        self.in_prolog = True
        self.prolog = expat.ParserCreate()
        self.prolog.StartDoctypeDeclHandler = self._refuse
        self.prolog.StartElementHandler = self._end_prolog

    def read(self, size: int = -1) -> bytes:
        """As a file's; raises `UserError` for what is refused."""
        block = self.file.read(size)
        self.held += len(block)
        if self.held > self.limit:
            raise UserError(f"an XML element of more than {self.limit:,} bytes")
        if self.in_prolog:
            self._read_prolog(block)
        return block

    def emptied(self) -> None:
        """Note that what was read so far is no longer in memory."""
        self.held = 0

    def _read_prolog(self, block: bytes) -> None:
        try:
            self.prolog.Parse(block)
        except UserError:  # a ValueError, too
            raise
        except (expat.ExpatError, LookupError, ValueError):
            self.in_prolog = False  # the parser that is given the block says what is wrong

    def _end_prolog(self, *element: object) -> None:
        self.in_prolog = False

    def _refuse(self, *declaration: object) -> None:
        raise UserError("XML with a DOCTYPE is not read: remove the DOCTYPE")
