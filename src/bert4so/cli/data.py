"""`bert4so data`: convert the published files of a corpus, and inspect the result."""

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from bert4so.cli.options import SkipBad, bad_record_handler
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
    help="Prepare, count and check corpora.",
)

Folders = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...",
        help="Folders, or names under ./data or $BERT4SO_DATA; NAME=FOLDER sets the name.",
        show_default=False,
    ),
]


@app.command("list")
def list_() -> None:
    """List the forms that `prepare` can read, and the corpora found.

    bert4so data list
    """
    from bert4so.data.forms import FORMS
    from bert4so.experiments.report.paper_numbers import table_3_row

    rows = [["FORM", "paper: train / valid / test", "SOURCE"]]
    for name, form in FORMS.items():
        paper = table_3_row(name)
        counts = paper.documents.values() if paper else ()
        rows.append([name, " / ".join(f"{count:,}" for count in counts), form.source])
    sys.stdout.write(format_columns(rows, left=(0, 1, 2)))
    for root in corpus_roots():
        for folder in list_corpora(root):
            card = read_card(folder)
            parts = card.parts.items() if card else ()
            sizes = ", ".join(f"{part.documents:,} {split}" for split, part in parts)
            sys.stdout.write(f"{folder}: {sizes or 'no data card'}\n")


@app.command()
def prepare(
    form: Annotated[
        str,
        typer.Argument(
            metavar="FORM",
            help="Format of the source; `bert4so data list` shows all.",
            show_default=False,
        ),
    ],
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="The file or folder to read.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder for the corpus.")],
    seed: Annotated[
        int,
        typer.Option(help="Seed of the division into splits and of later shuffles."),
    ] = 0,
    sentences: Annotated[
        str,
        typer.Option(
            metavar="COLUMNS",
            help="Column with lists of sentences, or columns A,B,C with one each.",
            show_default="sentences, or sentence1, sentence2 ...",
        ),
    ] = "",
    text: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="Column with running text to split."),
    ] = "",
    id_: Annotated[
        str,
        typer.Option(
            "--id", metavar="COLUMN", help="Column with ids.", show_default="id, or numbers"
        ),
    ] = "",
    skip_bad: SkipBad = False,
) -> None:
    """Convert the published files of a corpus.

    Writes train.jsonl, valid.jsonl and test.jsonl, and corpus.json with the source, the counts, a
    hash of each split, and the seed. Files may be compressed (.gz, .zst). A file whose name begins
    with train, valid, val, dev or test goes to that split. A source without splits is divided
    8:1:1; fewer than ten documents give no validation and test sets. Running text is split into
    sentences.

    bert4so data prepare jsonl data/sample/train.jsonl --out data/mine
    """
    from bert4so.data.forms import FORMS
    from bert4so.data.prepare import prepare as write
    from bert4so.data.readers.raw_document import Columns
    from bert4so.data.sentences import split_running_text
    from bert4so.io.files import Files

    if form not in FORMS:
        raise UserError(f'unknown form "{form}": choose one of {", ".join(FORMS)}')
    if sentences and text:
        raise UserError("--sentences and --text exclude each other: pass one of them")
    columns = tuple(column.strip() for column in sentences.split(",") if column.strip())
    on_bad = bad_record_handler(skip_bad)
    total = Files(source).size() if source.exists() else None
    with progress_bar("reading", total, in_bytes=True) as advance:
        files = Files(source, advance)
        raw = FORMS[form].read(files, Columns(columns, text, id_), on_bad)
        card = write(split_running_text(raw, on_bad=on_bad), out, form, str(source), seed, on_bad)
    if isinstance(on_bad, Skipping):
        on_bad.summary()
    if card.repaired:
        say(f"duplicate ids changed: {card.repaired}")
    missing = [split for split in SPLITS if split not in card.parts]
    if missing:
        say(f"no documents for {' and '.join(missing)}: `bert4so train` needs train and valid")
    rows = [["split", "documents", "sentences"]]
    rows += [[s, f"{p.documents:,}", f"{p.sentences:,}"] for s, p in card.parts.items()]
    sys.stdout.write(f"{format_columns(rows)}{out}\n")


@app.command()
def stats(folders: Folders) -> None:
    """Count documents, sentences and word pieces.

    Word pieces are those of the default encoder's tokenizer (BERT's, uncased), without special
    tokens and, in the last two columns, with [CLS] and [SEP] for every sentence. Corpora named aan,
    neurips, nsf, rocstory or sind are compared with the paper's Table 3.

    bert4so data stats data/sample
    """
    from bert4so.data.stats import TABLE_HEADER, compare_with_paper, statistics
    from bert4so.experiments.report.paper_numbers import table_3_row
    from bert4so.text.encoder_files import load_tokenizer

    tokenizer = load_tokenizer()
    rows = [*TABLE_HEADER]
    with progress_bar("counting", len(folders)) as advance:
        for name, folder in _folders_by_name(folders).items():
            counts = statistics(read_existing_splits(folder), tokenizer)
            rows += compare_with_paper(name, counts, table_3_row(name))
            advance(1)
    sys.stdout.write(format_columns(rows))


@app.command()
def check(folders: Folders) -> None:
    """Report documents that would distort an evaluation.

    Reports documents in two splits or corpora, whole or with two or more shared sentences (case and
    punctuation are ignored); numbered sentences; documents of one sentence; sentences that an
    encoder with 512 positions would cut; and splits that differ from their data card.

    bert4so data check data/sample
    """
    from bert4so.data.check import changed_splits, check_split, find_overlaps
    from bert4so.text.encoder_files import load_tokenizer

    tokenizer = load_tokenizer()
    named = _folders_by_name(folders)
    places = {
        (name, split): documents
        for name, folder in named.items()
        for split, documents in read_existing_splits(folder).items()
    }
    report = list(
        chain.from_iterable(changed_splits(name, folder) for name, folder in named.items())
    )
    with progress_bar("checking", sum(map(len, places.values()))) as advance:
        for place, documents in places.items():
            report += check_split(place, documents, tokenizer)
            advance(len(documents))
    report += find_overlaps(places)
    rows = [[f"{len(one.ids):,}", one.problem, ", ".join(one.ids[:3])] for one in report if one.ids]
    sys.stdout.write(format_columns(rows, left=(1, 2)) if rows else "no problems found\n")


def _folders_by_name(folders: Sequence[str]) -> dict[str, Path]:
    """Parse `FOLDER` and `NAME=FOLDER`; the default name is the folder's own."""
    by_name = dict[str, Path]()
    for argument in folders:
        given_name, _, path = argument.rpartition("=")
        folder = find_corpus(path)
        name = given_name or folder.resolve().name
        if name in by_name:
            raise UserError(f"{argument}: two corpora named {name}: pass OTHER_NAME={path}")
        by_name[name] = folder
    return by_name
