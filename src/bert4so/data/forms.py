"""The formats that a corpus can be prepared from. To add one, write a reader and list it here."""

from dataclasses import dataclass

from bert4so.data.readers.abstracts import read_abstracts
from bert4so.data.readers.anthology import read_anthology
from bert4so.data.readers.awards import read_awards
from bert4so.data.readers.dataset import read_dataset
from bert4so.data.readers.json_lines import read_jsonl
from bert4so.data.readers.plain_text import read_paragraphs, read_text
from bert4so.data.readers.raw_document import Reader
from bert4so.data.readers.rocstories import read_rocstories
from bert4so.data.readers.tabular import read_csv, read_parquet
from bert4so.data.readers.vist import read_vist


@dataclass(frozen=True)
class Form:
    """A source format: its reader, and a description of the files that the user must provide."""

    read: Reader
    source: str


ABSTRACTS = "train.lower, val.lower ...: one document per line, <eos>; or txt_tokenized/ and split/"

FORMS = {
    "neurips": Form(read_abstracts, ABSTRACTS),
    "aan": Form(read_abstracts, ABSTRACTS),
    "nsf": Form(read_abstracts, ABSTRACTS),
    "sind": Form(read_vist, "{train,val,test}.story-in-sequence.json of VIST"),
    "rocstory": Form(read_rocstories, "ROCStories_winter2017.csv, ROCStories_spring2016.csv"),
    "nsf-awards": Form(read_awards, "award XML, JSON or zip as published by NSF; running text"),
    "acl-anthology": Form(read_anthology, "the ACL Anthology's data/xml/*.xml; running text"),
    "jsonl": Form(read_jsonl, 'one {"id": ..., "sentences": [...]} per line, or --text KEY'),
    "csv": Form(
        read_csv, "one column per sentence (sentence1 ..., or --sentences A,B), or --text COLUMN"
    ),
    "parquet": Form(read_parquet, "one document per row: a column of lists (sentences), or as csv"),
    "dataset": Form(read_dataset, "a Hugging Face dataset: a folder or a name; columns as parquet"),
    "text": Form(read_text, "one sentence per line, a blank line between documents"),
    "paragraphs": Form(read_paragraphs, "running text, one document per paragraph"),
}
"""By name, as accepted by `bert4so data prepare`."""
