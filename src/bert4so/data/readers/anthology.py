"""Abstracts of the ACL Anthology, as github.com/acl-org/acl-anthology has them in data/xml/.

A file a collection: <collection id><volume id><paper id><abstract>, the abstract with markup in it
(python/acl_anthology/data/schema.rnc there). They are not divided: AAN's split, by years, is that
of a set which ends before most of today's Anthology was written.
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


def read_anthology(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """The abstract of each paper that has one, as running text, formulas as their TeX."""
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
    """Each paper, with the ids of its collection and volume; it is emptied after."""
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
                source.emptied()
    except UserError as error:  # a ValueError, too
        on_bad(UserError(f"{path}: {error}"))
    except (ParseError, LookupError, ValueError) as error:  # the last two: unknown encodings
        on_bad(UserError(f"{path}: not XML: {shorten(str(error))}"))


def _text(abstract: Element | None) -> str:
    return "" if abstract is None else " ".join("".join(abstract.itertext()).split())


def anthology_id(collection: str, volume: str, paper: str) -> str:
    """The name of a paper in the Anthology: 2022.acl-long.42, and P18-1001 before 2020.

    As build_id in python/acl_anthology/utils/ids.py of the Anthology's repository has it.
    """
    if not (collection and volume and paper):
        raise UserError(f"{_named(collection, volume, paper)}: wanted an id for each")
    if collection[0].isdigit():
        return f"{collection}-{volume}.{paper}"
    try:
        numbers = int(volume), int(paper)
    except ValueError:
        named = _named(collection, volume, paper)
        raise UserError(f"{named}: wanted numbers for the last two") from None
    # Where there are many small volumes they have two digits of the four, not one.
    many = collection[0] == "W" or collection == "C69" or (collection == "D19" and numbers[0] >= 5)
    return f"{collection}-{numbers[0]:0{1 + many}}{numbers[1]:0{3 - many}}"


def _named(collection: str, volume: str, paper: str) -> str:
    names = {"collection": collection, "volume": volume, "paper": paper}
    return ", ".join(f'{kind} "{shorten(name)}"' for kind, name in names.items())
