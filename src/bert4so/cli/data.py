"""`bert4so data`: corpora, from what their authors hand out to what is trained and measured on."""

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_ones
from bert4so.common.progress import progress_bar, say
from bert4so.common.text_table import format_columns
from bert4so.data.card import read_card
from bert4so.data.corpus import (
    SPLITS,
    corpus_roots,
    find_corpus,
    list_corpora,
    read_existing_splits,
)
from bert4so.errors import UserError
from bert4so.io.on_error import Skipping

app = typer.Typer(
    name="data",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Prepare corpora, count them, and look for what is wrong with them.",
)

Folders = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...",
        help="Folders, or names under ./data or $BERT4SO_DATA. NAME=FOLDER shows one as NAME; aan, "
        "neurips, nsf, rocstory and sind are set beside the paper's.",
        show_default=False,
    ),
]


@app.command("list")
def list_() -> None:
    """Say which corpora can be prepared, out of what, and which are there.

    bert4so data list
    """
    from bert4so.data.forms import FORMS
    from bert4so.experiments.report.paper_numbers import table_3_row

    lines = [["FORM", "paper: train / valid / test", "SOURCE"]]
    for name, form in FORMS.items():
        paper = table_3_row(name)
        counts = paper.documents.values() if paper else ()
        lines.append([name, " / ".join(f"{count:,}" for count in counts), form.source])
    sys.stdout.write(format_columns(lines, left=(0, 1, 2)))
    for shelf in corpus_roots():
        for folder in list_corpora(shelf):
            card = read_card(folder)
            parts = card.parts.items() if card else ()
            held = ", ".join(f"{part.documents:,} {split}" for split, part in parts)
            sys.stdout.write(f"{folder}: {held or 'without a data card'}\n")


@app.command()
def prepare(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORM",
            help="What the source is: one of those that `bert4so data list` shows.",
            show_default=False,
        ),
    ],
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="The file or folder to read.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the corpus.")],
    seed: Annotated[
        int,
        typer.Option(help="By which undivided documents are divided, and all are shuffled later."),
    ] = 0,
    sentences: Annotated[
        str,
        typer.Option(
            metavar="COLUMNS",
            help="The column that holds lists of sentences, or several, A,B,C, that hold one each.",
            show_default="sentences, or sentence1, sentence2 ...",
        ),
    ] = "",
    text: Annotated[
        str, typer.Option(metavar="COLUMN", help="The column of running text, to be split.")
    ] = "",
    id_: Annotated[
        str,
        typer.Option(
            "--id", metavar="COLUMN", help="The column of ids.", show_default="id, or numbers"
        ),
    ] = "",
    skip_bad: SkipBad = False,
) -> None:
    """Make a corpus out of the files that its authors hand out.

    Writes train.jsonl, valid.jsonl and test.jsonl, and corpus.json: the source, the counts, a hash
    of each split, and the seed. Files may be packed (.gz, .zst). A file whose name begins with
    train, valid, val, dev or test goes to that split; what the source does not divide is divided
    8:1:1, so that fewer than ten documents give no validation and test sets. Running text is split
    into sentences.

    bert4so data prepare jsonl data/sample/train.jsonl --out data/mine
    """
    from bert4so.data.forms import FORMS
    from bert4so.data.prepare import prepare as write
    from bert4so.data.readers.raw_document import Columns
    from bert4so.data.sentences import split_running_text
    from bert4so.io.files import Files

    if form not in FORMS:
        raise UserError(f'"{form}": no such form (known: {", ".join(FORMS)})')
    if sentences and text:
        raise UserError("--sentences and --text: a document has one or the other")
    named = tuple(column.strip() for column in sentences.split(",") if column.strip())
    on_bad = bad_ones(skip_bad)
    total = Files(source).size() if source.exists() else None
    with progress_bar("reading", total, in_bytes=True) as advance:
        files = Files(source, advance)
        found = FORMS[form].read(files, Columns(named, text, id_), on_bad)
        card = write(split_running_text(found, on_bad=on_bad), out, form, str(source), seed, on_bad)
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    if card.repaired:
        say(f"ids that were taken, and were changed: {card.repaired}")
    missing = [split for split in SPLITS if split not in card.parts]
    if missing:
        say(f"no documents for {' and '.join(missing)}: `bert4so train` wants train and valid")
    lines = [["split", "documents", "sentences"]]
    lines += [[s, f"{p.documents:,}", f"{p.sentences:,}"] for s, p in card.parts.items()]
    sys.stdout.write(f"{format_columns(lines)}{out}\n")


@app.command()
def stats(folders: Folders) -> None:
    """Count documents, sentences and word pieces, beside the paper's Table 3.

    Word pieces are those of the default encoder's tokenizer (BERT's, uncased), without special
    tokens and, in the last two columns, with a [CLS] and a [SEP] for every sentence.

    bert4so data stats data/sample
    """
    from bert4so.data.stats import TABLE_HEADER, compare_with_paper, statistics
    from bert4so.experiments.report.paper_numbers import table_3_row
    from bert4so.text.encoder_files import load_tokenizer

    tokenizer = load_tokenizer()
    lines = [*TABLE_HEADER]
    with progress_bar("counting", len(folders)) as advance:
        for name, folder in _named(folders).items():
            counted = statistics(read_existing_splits(folder), tokenizer)
            lines += compare_with_paper(name, counted, table_3_row(name))
            advance(1)
    sys.stdout.write(format_columns(lines))


@app.command()
def check(folders: Folders) -> None:
    """Look for what gives the answer away, or stands in two places.

    Documents that stand in two splits or corpora, whole or with two or more sentences, whatever
    their case and punctuation; numbered sentences; documents of one sentence; sentences that an
    encoder of 512 positions would cut; and whether a split is still what its data card says.

    bert4so data check data/sample
    """
    from bert4so.data.check import changed_splits, check_split, find_overlaps
    from bert4so.text.encoder_files import load_tokenizer

    tokenizer = load_tokenizer()
    named = _named(folders)
    places = {
        (name, split): documents
        for name, folder in named.items()
        for split, documents in read_existing_splits(folder).items()
    }
    found = list(
        chain.from_iterable(changed_splits(name, folder) for name, folder in named.items())
    )
    with progress_bar("checking", sum(map(len, places.values()))) as advance:
        for place, documents in places.items():
            found += check_split(place, documents, tokenizer)
            advance(len(documents))
    found += find_overlaps(places)
    lines = [[f"{len(f.ids):,}", f.problem, ", ".join(f.ids[:3])] for f in found if f.ids]
    sys.stdout.write(format_columns(lines, left=(1, 2)) if lines else "nothing found\n")


def _named(folders: Sequence[str]) -> dict[str, Path]:
    """The folders by the names they are to be called: as given, or their own."""
    named = dict[str, Path]()
    for given in folders:
        name, _, path = given.rpartition("=")
        folder = find_corpus(path)
        called = name or folder.resolve().name
        if called in named:
            raise UserError(f"{given}: a second corpus called {called}: call it NAME={path}")
        named[called] = folder
    return named
