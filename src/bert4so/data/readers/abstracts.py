"""Abstracts of NeurIPS, AAN and NSF, in sentences and divided, as the field hands them on.

A document a line, <eos> between sentences, a file a split: train.lower, val.lower and test.lower
(github.com/DeepLearnXMU/NSEG, nips/), or train.tsv, dev.tsv and test.tsv
(github.com/steven640pixel/nonautoregressive-sentence-ordering, which has SIND so, too).

Or a document a file, a sentence a line, in txt_tokenized/, and the names of each split's documents
in split/: what Logeswaran et al. (2018) give those who ask, as it is read by prepare_data.py of
github.com/shrimai/Topological-Sort-for-Sentence-Ordering.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.errors import UserError, shorten
from bert4so.io.files import COMPRESSED_SUFFIXES, Files
from bert4so.io.lines import Line, read_lines, text_of
from bert4so.io.on_error import OnBad
from bert4so.io.text import parse_sentences

END = "<eos>"
TEXTS = "txt_tokenized"
YEARS = {"2013le_papers": "train", "2014_papers": "valid", "2015_papers": "test"}
"""The lists of NeurIPS, which are named for years; the others' are train, valid and test."""


def read_abstracts(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """A file a document where there is a folder txt_tokenized, else a line a document."""
    if (files.path / TEXTS).is_dir():
        return _from_files(files, on_bad)
    return _from_lines(files, on_bad)


def _from_lines(files: Files, on_bad: OnBad) -> Iterator[RawDocument]:
    for path in files.find("*.lower", "*.tsv", "*.txt"):
        name, split = path.name.partition(".")[0], split_of(path)
        if split is None and path != files.path:
            continue  # a vocabulary, or a note to the reader
        for number, line in enumerate(read_lines(path, files.on_bytes_read), start=1):
            where = f"{path}:{number}"
            try:
                sentences = _sentences(line, where)
            except UserError as error:
                on_bad(error)
            else:
                if sentences:
                    yield RawDocument(where, f"{name}-{number}", sentences, split=split)


def _sentences(line: Line, where: str) -> tuple[str, ...]:
    """The sentences of a document on one line; none of a blank line."""
    text = text_of(line)
    sentences = tuple(map(str.strip, text.split(END)))
    if sentences == ("",):
        return ()
    if len(sentences) == 1 and "\t" in text:
        # Not one sentence, but a table, which others keep in files of the same names.
        raise UserError(f"{where}: tabs between sentences: wanted {END}")
    return sentences


def _from_files(files: Files, on_bad: OnBad) -> Iterator[RawDocument]:
    lists = files.path / "split"
    documents = _listed(files, lists, on_bad) if lists.is_dir() else _unlisted(files)
    for name, path, split in documents:
        try:
            sentences = parse_sentences(read_lines(path, files.on_bytes_read), str(path))
            if not sentences:
                raise UserError(f"{path}: empty: wanted a sentence a line")
        except UserError as error:
            on_bad(error)
        else:
            yield RawDocument(str(path), name, sentences, split=split)


def _listed(files: Files, lists: Path, on_bad: OnBad) -> Iterator[tuple[str, Path, str | None]]:
    """The id, file and split of each document that stands in a list; others are no part of it."""
    for names in sorted(lists.iterdir()):
        split = YEARS.get(names.name.partition(".")[0], split_of(names))
        if split is None:
            continue
        files.confine(names, f"{names}")
        for number, line in enumerate(read_lines(names, files.on_bytes_read), start=1):
            try:
                name = text_of(line).strip()
                if name:
                    path = _file_of(name, files, f"{names}:{number}")
                    yield name.removesuffix(".txt"), path, split
            except UserError as error:
                on_bad(error)


def _file_of(name: str, files: Files, where: str) -> Path:
    # The lists of NeurIPS omit the prefix and the suffix of file names.
    for base, suffix in product((name, f"a{name}.txt"), ("", *sorted(COMPRESSED_SUFFIXES))):
        path = files.path / TEXTS / f"{base}{suffix}"
        if _is_file(path):
            files.confine(path, f"{where}: {shorten(name)}")
            return path
    raise UserError(f"{where}: {shorten(name)}: no such file in {TEXTS}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is longer than any file's
        return False


def _unlisted(files: Files) -> Iterator[tuple[str, Path, str | None]]:
    for path in files.find("*", under=TEXTS):
        name = path.with_suffix("").name if path.suffix in COMPRESSED_SUFFIXES else path.name
        yield name.removesuffix(".txt"), path, None
