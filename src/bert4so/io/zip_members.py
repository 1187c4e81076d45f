"""The members of a zip archive, which may be damaged, or unpack to any size."""

import lzma
import struct
import zlib
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from bert4so.errors import UserError, shorten

METHODS = {ZIP_STORED, ZIP_DEFLATED, ZIP_LZMA}
"""Not bzip2: 4 KB of it may hold 5 GB, which zipfile unpacks at once."""

BLOCK = 1 << 12

# To zipfile, a member that is encrypted or packed in an unknown way is a RuntimeError; what lzma
# and struct raise for a damaged one, it lets through. MemoryError: a damaged size of LZMA's.
ZIP_ERRORS = (
    BadZipFile, EOFError, RuntimeError, OSError, ValueError, OverflowError, IndexError, MemoryError,
    zlib.error, lzma.LZMAError, struct.error,
)  # fmt: skip


def read_member(archive: ZipFile, member: ZipInfo, limit: int) -> bytes:
    """Unpack a member; raises `UserError` where it is damaged, or has more bytes than the limit."""
    if member.compress_type not in METHODS:
        raise UserError("not packed with deflate or LZMA, which alone are read")
    blocks, size = [], 0
    try:
        with archive.open(member) as file:
            while block := file.read(BLOCK):
                blocks.append(block)
                size += len(block)
                if size > limit:
                    break
    except ZIP_ERRORS as error:
        raise UserError(f"not readable as zip: {shorten(str(error))}") from None
    if size > limit:
        raise UserError(f"larger than {limit:,} bytes unpacked")
    return b"".join(blocks)
