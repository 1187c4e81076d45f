"""Awards of the National Science Foundation, as nsf.gov/awardsearch/download.jsp hands them out.

A zip file a year, in it a file an award. Until January 2025 these were XML: <rootTag><Award>, with
AwardID and AbstractNarration (github.com/jallen2/Research-Trend has those of 2015); now they are
JSON: awd_id and awd_abstract_narration (nsf_awards.py of github.com/marin-community/marin reads
them). They are not divided.
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
"""Of one award's file, after unpacking."""

LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)

Award = tuple[str, str, bytes]
"""Where an award stands, what kind of file it is, and what is in it."""


def read_awards(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """The abstract of each award as running text, out of zip files or of files an award.

    An award without an abstract, as many old ones are, is no document; it is no error either.
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
            on_bad(UserError(f"{path}: not readable as zip: {shorten(str(error))}"))
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
    """The id of an award, and its abstract."""
    if kind not in PARSERS:
        raise UserError(f"{kind or 'no ending'}: wanted {', '.join(PARSERS)} or .zip")
    name, narration = PARSERS[kind](content)
    if not isinstance(name, str) or not name.strip():
        raise UserError(f"the award's id is {quote(name)}: wanted a string")
    if not isinstance(narration, str | None):
        raise UserError(f"the award's abstract is {quote(narration)}: wanted a string")
    return name.strip(), narration or ""


def _parsed_xml(content: bytes) -> tuple[object, object]:
    try:
        whole = ElementTree.parse(XmlInput(io.BytesIO(content), MAX_AWARD_BYTES))
        award = whole.find("Award")
    except UserError:  # a ValueError, too
        raise
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the last two: encodings
        raise UserError(f"not XML: {shorten(str(error))}") from None
    if award is None:
        raise UserError("no <Award> in it")
    narration = [text for part in award.findall("AbstractNarration") for text in part.itertext()]
    return award.findtext("AwardID"), " ".join(narration)


def _parsed_json(content: bytes) -> tuple[object, object]:
    try:
        award = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"not JSON: {error}") from None
    if not isinstance(award, dict):
        raise UserError(f"{quote(award)}: wanted an object, {{...}}")
    return award.get("awd_id"), award.get("awd_abstract_narration")


PARSERS: dict[str, Callable[[bytes], tuple[object, object]]] = {
    ".xml": _parsed_xml,
    ".json": _parsed_json,
}


def _plain(narration: str) -> str:
    """Without the HTML in it: line breaks, and characters spelled out."""
    return " ".join(LINE_BREAK.sub(" ", html.unescape(narration)).split())
