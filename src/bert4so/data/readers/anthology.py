"""Abstracts of the ACL Anthology from data/xml/ of github.com/acl-org/acl-anthology.

One file per collection: <collection id><volume id><paper id><abstract>, with markup in the abstract
(see python/acl_anthology/data/schema.rnc there). There are no splits: those of AAN, by year, end
before most of today's Anthology was written.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.etree.ElementTree import Element, ParseError, iterparse

from bert4so.data.readers.raw_document import Columns, RawDocument
from bert4so.data.readers.xml_input import XmlInput
from bert4so.errors import UserError, shorten
from bert4so.io.files import Files
from bert4so.io.lines import reading
from bert4so.io.on_error import OnBad

MAX_PAPER_BYTES = 1 << 24
"""Size limit of the XML of a paper."""


def read_anthology(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read the abstract of each paper that has one, as running text; formulas become TeX."""
    for path in files.find("*.xml"):
        with reading(path), files.binary(path) as file:
            for collection, volume, paper in _papers(file, path, on_bad):
                text = _text(paper.find("abstract"))
                if not text:
                    continue
                try:
                    name = anthology_id(collection, volume, paper.get("id", ""))
                except UserError as error:
                    on_bad(UserError(f"{path}: {error}"))
                else:
                    yield RawDocument(f"{path}: {shorten(name)}", name, text=text)


def _papers(file: IO[bytes], path: Path, on_bad: OnBad) -> Iterator[tuple[str, str, Element]]:
    """Yield each paper with the ids of its collection and volume; it is cleared afterwards."""
    collection = volume = ""
    source = XmlInput(file, MAX_PAPER_BYTES)
    try:
        for event, element in iterparse(source, events=("start", "end")):
            if element.tag == "collection":
                collection = element.get("id", "")
            elif element.tag == "volume" and event == "start":
                volume = element.get("id", "")
            elif element.tag == "paper" and event == "end":
                yield collection, volume, element
            if event == "end" and element.tag in ("paper", "volume"):
                element.clear()
                source.reset()
    except UserError as error:  # a ValueError, too
        on_bad(UserError(f"{path}: {error}"))
    except (ParseError, LookupError, ValueError) as error:  # unknown encodings raise the last two
        on_bad(UserError(f"{path}: not XML: {shorten(str(error))}"))


def _text(abstract: Element | None) -> str:
    return "" if abstract is None else " ".join("".join(abstract.itertext()).split())


def anthology_id(collection: str, volume: str, paper: str) -> str:
    """The id of a paper in the Anthology, such as 2022.acl-long.42, or P18-1001 before 2020.

    Like build_id in python/acl_anthology/utils/ids.py of the Anthology's repository.
    """
    if not (collection and volume and paper):
        raise UserError(f"{_quoted(collection, volume, paper)}: ids must not be empty")
    if collection[0].isdigit():
        return f"{collection}-{volume}.{paper}"
    try:
        numbers = int(volume), int(paper)
    except ValueError:
        ids = _quoted(collection, volume, paper)
        raise UserError(f"{ids}: the ids of volume and paper must be numbers") from None
    # In collections with many small volumes, the volume has two of the four digits, not one.
    many = collection[0] == "W" or collection == "C69" or (collection == "D19" and numbers[0] >= 5)
    return f"{collection}-{numbers[0]:0{1 + many}}{numbers[1]:0{3 - many}}"


def _quoted(collection: str, volume: str, paper: str) -> str:
    names = {"collection": collection, "volume": volume, "paper": paper}
    return ", ".join(f'{kind} "{shorten(name)}"' for kind, name in names.items())
