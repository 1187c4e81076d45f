"""Abstracts of NeurIPS, AAN and NSF in the two layouts in which they are distributed.

One document per line, <eos> between sentences, one file per split: train.lower, val.lower and
test.lower (github.com/DeepLearnXMU/NSEG, nips/), or train.tsv, dev.tsv and test.tsv
(github.com/steven640pixel/nonautoregressive-sentence-ordering, which also has SIND).

Or one document per file, one sentence per line, in txt_tokenized/, and lists of the documents of
each split in split/: the data that Logeswaran et al. (2018) share on request, as read by
prepare_data.py of github.com/shrimai/Topological-Sort-for-Sentence-Ordering.
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
SPLIT_OF_LIST = {"2013le_papers": "train", "2014_papers": "valid", "2015_papers": "test"}
"""The lists of NeurIPS are named by year; those of the others are train, valid and test."""


def read_abstracts(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """Read one document per file if there is a folder txt_tokenized, else one per line."""
    if (files.path / TEXTS).is_dir():
        return _from_files(files, on_bad)
    return _from_lines(files, on_bad)


def _from_lines(files: Files, on_bad: OnBad) -> Iterator[RawDocument]:
    for path in files.find("*.lower", "*.tsv", "*.txt"):
        name, split = path.name.partition(".")[0], split_of(path)
        if split is None and path != files.path:
            continue  # a vocabulary or a README
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
    """The sentences of a document on one line; empty for a blank line."""
    text = text_of(line)
    sentences = tuple(map(str.strip, text.split(END)))
    if sentences == ("",):
        return ()
    if len(sentences) == 1 and "\t" in text:
        # A table, which other datasets keep in files with the same names.
        raise UserError(f"{where}: sentences must be separated by {END} (got tabs)")
    return sentences


def _from_files(files: Files, on_bad: OnBad) -> Iterator[RawDocument]:
    lists = files.path / "split"
    documents = _listed(files, lists, on_bad) if lists.is_dir() else _unlisted(files)
    for name, path, split in documents:
        try:
            sentences = parse_sentences(read_lines(path, files.on_bytes_read), str(path))
            if not sentences:
                raise UserError(f"{path}: contains no sentences: write one per line")
        except UserError as error:
            on_bad(error)
        else:
            yield RawDocument(str(path), name, sentences, split=split)


def _listed(files: Files, lists: Path, on_bad: OnBad) -> Iterator[tuple[str, Path, str | None]]:
    """Yield the id, file and split of each listed document; documents in no list are ignored."""
    for names in sorted(lists.iterdir()):
        split = SPLIT_OF_LIST.get(names.name.partition(".")[0], split_of(names))
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
    except OSError:  # the name is too long for a file
        return False


def _unlisted(files: Files) -> Iterator[tuple[str, Path, str | None]]:
    for path in files.find("*", under=TEXTS):
        name = path.with_suffix("").name if path.suffix in COMPRESSED_SUFFIXES else path.name
        yield name.removesuffix(".txt"), path, None
