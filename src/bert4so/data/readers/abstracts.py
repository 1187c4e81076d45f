"""Abstracts of NeurIPS, AAN and NSF, in sentences and divided, as the field hands them on.

A document a line, <eos> between sentences, a file a split: train.lower, val.lower and test.lower
(github.com/DeepLearnXMU/NSEG, nips/), or train.tsv, dev.tsv and test.tsv
(github.com/steven640pixel/nonautoregressive-sentence-ordering, which has SIND so, too).

Or a document a file, a sentence a line, in txt_tokenized/, and the names of each split's documents
in split/: what Logeswaran et al. (2018) give those who ask, as it is read by prepare_data.py of
github.com/shrimai/Topological-Sort-for-Sentence-Ordering.
"""

from collections.abc import Iterator
from pathlib import Path

from bert4so.data.readers.raw_document import Columns, RawDocument, split_of
from bert4so.errors import UserError
from bert4so.io.files import PACKED, Files
from bert4so.io.lines import read_lines
from bert4so.io.on_error import OnBad

END = "<eos>"
YEARS = {"2013le_papers": "train", "2014_papers": "valid", "2015_papers": "test"}
"""The lists of NeurIPS, which are named for years; the others' are train, valid and test."""


def read_abstracts(files: Files, columns: Columns, on_bad: OnBad) -> Iterator[RawDocument]:
    """A file a document where there is a folder txt_tokenized, else a line a document."""
    if (files.path / "txt_tokenized").is_dir():
        return _from_files(files, on_bad)
    return _from_lines(files, on_bad)


def _from_lines(files: Files, on_bad: OnBad) -> Iterator[RawDocument]:
    for path in files.find("*.lower", "*.tsv", "*.txt"):
        name, split = path.name.partition(".")[0], split_of(path)
        if split is None and path != files.path:
            continue  # a vocabulary, or a note to the reader
        for number, line in enumerate(read_lines(path, files.told), start=1):
            where, sentences = f"{path}:{number}", tuple(map(str.strip, line.split(END)))
            if sentences == ("",):
                continue
            if len(sentences) == 1 and "\t" in line:
                # Not one sentence, but a table, which others keep in files of the same names.
                on_bad(UserError(f"{where}: tabs between sentences: wanted {END}"))
            else:
                yield RawDocument(where, f"{name}-{number}", sentences, split=split)


def _from_files(files: Files, on_bad: OnBad) -> Iterator[RawDocument]:
    lists = files.path / "split"
    documents = _listed(files, lists, on_bad) if lists.is_dir() else _unlisted(files)
    for name, path, split in documents:
        try:
            lines = [line.strip() for line in read_lines(path, files.told)]
            sentences = tuple(line for line in lines if line)
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
        for number, line in enumerate(read_lines(names, files.told), start=1):
            name = line.strip()
            if not name:
                continue
            path = _file_of(name, files.path / "txt_tokenized")
            if path:
                yield name.removesuffix(".txt"), path, split
            else:
                on_bad(UserError(f"{names}:{number}: {name}: no such file in txt_tokenized"))


def _file_of(name: str, folder: Path) -> Path | None:
    # The lists of NeurIPS leave out how a file's name begins and ends.
    for form in (name, f"a{name}.txt"):
        for path in (folder / f"{form}{end}" for end in ("", *sorted(PACKED))):
            if path.is_file():
                return path
    return None


def _unlisted(files: Files) -> Iterator[tuple[str, Path, str | None]]:
    for path in Files(files.path / "txt_tokenized").find("*"):
        name = path.with_suffix("").name if path.suffix in PACKED else path.name
        yield name.removesuffix(".txt"), path, None
