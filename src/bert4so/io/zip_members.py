"""Read members of a zip archive, which may be damaged or decompress to any size."""

import lzma
import struct
import zlib
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from bert4so.errors import UserError, shorten

COMPRESSION_METHODS = {ZIP_STORED, ZIP_DEFLATED, ZIP_LZMA}
"""Without bzip2: 4 KB can decompress to 5 GB, which zipfile does in one step."""

BLOCK_BYTES = 1 << 12

# zipfile raises RuntimeError for encryption and unknown compression, and does not catch the errors
# of lzma and struct for damaged data. MemoryError comes from a damaged LZMA dictionary size.
ZIP_ERRORS = (
    BadZipFile, EOFError, RuntimeError, OSError, ValueError, OverflowError, IndexError, MemoryError,
    zlib.error, lzma.LZMAError, struct.error,
)  # fmt: skip


def read_member(archive: ZipFile, member: ZipInfo, limit: int) -> bytes:
    """Decompress a member; raises `UserError` if it is damaged or larger than `limit` bytes."""
    if member.compress_type not in COMPRESSION_METHODS:
        raise UserError("unsupported compression: only deflate and LZMA are read")
    blocks, size = [], 0
    try:
        with archive.open(member) as file:
            while block := file.read(BLOCK_BYTES):
                blocks.append(block)
                size += len(block)
                if size > limit:
                    break
    except ZIP_ERRORS as error:
        raise UserError(f"damaged, or not a zip file: {shorten(str(error))}") from None
    if size > limit:
        raise UserError(f"larger than {limit:,} bytes after decompression")
    return b"".join(blocks)
