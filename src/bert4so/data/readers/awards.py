"""Awards of the National Science Foundation, from nsf.gov/awardsearch/download.jsp.

One zip file per year with one file per award. Until January 2025 these were XML: <rootTag><Award>
with AwardID and AbstractNarration (github.com/jallen2/Research-Trend has those of 2015). Now they
are JSON with awd_id and awd_abstract_narration (see nsf_awards.py of
github.com/marin-community/marin). There are no splits.
"""

import html
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from xml.etree import ElementTree
from zipfile import ZipFile

from bert4so.data.readers.raw_document import Columns, RawDocument
from bert4so.data.readers.xml_input import XmlInput
from bert4so.errors import UserError, quote, shorten
from bert4so.io.files import Files, plain_suffix, read_limited
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad
from bert4so.io.zip_members import ZIP_ERRORS, read_member

MAX_AWARD_BYTES = 1 << 24
"""Size limit of the file of an award, after decompression."""

LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)

Award = tuple[str, str, bytes]
"""The location, file suffix and content of an award."""


def read_awards(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read the abstract of each award as running text, from zip files or one file per award.

    Awards without an abstract, such as many old ones, are ignored without an error.
    """
    for path in files.find("*.xml", "*.json", "*.zip"):
        read = _zipped if plain_suffix(path) == ".zip" else _single
        for where, kind, content in read(files, path, on_bad):
            try:
                name, narration = _parsed(content, kind)
            except UserError as error:
                on_bad(UserError(f"{where}: {error}"))
                continue
            text = _plain(narration)
            if text:
                yield RawDocument(where, name, text=text)


def _single(files: Files, path: Path, on_bad: OnBad) -> Iterator[Award]:
    try:
        with reading(path), files.binary(path) as file:
            content = read_limited(file, path, MAX_AWARD_BYTES)
    except UserError as error:
        on_bad(error)
    else:
        yield str(path), plain_suffix(path), content


def _zipped(files: Files, path: Path, on_bad: OnBad) -> Iterator[Award]:
    with reading(path), files.binary(path) as file:
        try:
            archive = ZipFile(file)
        except ZIP_ERRORS as error:
            on_bad(UserError(f"{path}: damaged, or not a zip file: {shorten(str(error))}"))
            return
        with archive:
            for member in archive.infolist():
                where = f"{path}: {shorten(member.filename)}"
                kind = PurePath(member.filename).suffix
                if kind not in PARSERS:
                    continue
                try:
                    content = read_member(archive, member, MAX_AWARD_BYTES)
                except UserError as error:
                    on_bad(UserError(f"{where}: {error}"))
                else:
                    yield where, kind, content


def _parsed(content: bytes, kind: str) -> tuple[str, str]:
    """The id and the abstract of an award."""
    if kind not in PARSERS:
        suffixes = ", ".join(PARSERS)
        raise UserError(f"the name must end in {suffixes} or .zip (got {quote(kind)})")
    name, narration = PARSERS[kind](content)
    if not isinstance(name, str) or not name.strip():
        raise UserError(f"the award's id must be a string (got {quote(name)})")
    if not isinstance(narration, str | None):
        raise UserError(f"the award's abstract must be a string (got {quote(narration)})")
    return name.strip(), narration or ""


def _parsed_xml(content: bytes) -> tuple[object, object]:
    try:
        tree = ElementTree.parse(XmlInput(io.BytesIO(content), MAX_AWARD_BYTES))
        award = tree.find("Award")
    except UserError:  # a ValueError, too
        raise
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two: encodings
        raise UserError(f"not XML: {shorten(str(error))}") from None
    if award is None:
        raise UserError("contains no <Award>")
    narration = [text for part in award.findall("AbstractNarration") for text in part.itertext()]
    return award.findtext("AwardID"), " ".join(narration)


def _parsed_json(content: bytes) -> tuple[object, object]:
    try:
        award = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {error}") from None
    if not isinstance(award, dict):
        raise UserError(f"must contain a JSON object (got {quote(award)})")
    return award.get("awd_id"), award.get("awd_abstract_narration")


PARSERS: dict[str, Callable[[bytes], tuple[object, object]]] = {
    ".xml": _parsed_xml,
    ".json": _parsed_json,
}


def _plain(narration: str) -> str:
    """Convert HTML line breaks and character references to plain text."""
    return " ".join(LINE_BREAK.sub(" ", html.unescape(narration)).split())
