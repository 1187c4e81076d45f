"""The forms that a corpus can be prepared from. To add one: write its reader, add its line."""

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
    """How to read some source, and what it is: what a user must have."""

    read: Reader
    source: str


ABSTRACTS = "train.lower, val.lower ...: a document a line, <eos>; or txt_tokenized/ and split/"

FORMS = {
    "neurips": Form(read_abstracts, ABSTRACTS),
    "aan": Form(read_abstracts, ABSTRACTS),
    "nsf": Form(read_abstracts, ABSTRACTS),
    "sind": Form(read_vist, "{train,val,test}.story-in-sequence.json of VIST"),
    "rocstory": Form(read_rocstories, "ROCStories_winter2017.csv, ROCStories_spring2016.csv"),
    "nsf-awards": Form(read_awards, "award XML, JSON or zip as NSF publishes it; running text"),
    "acl-anthology": Form(read_anthology, "the ACL Anthology's data/xml/*.xml; running text"),
    "jsonl": Form(read_jsonl, '{"id": ..., "sentences": [...]} a line, or --text KEY'),
    "csv": Form(
        read_csv, "a column a sentence (sentence1 ..., or --sentences A,B), or --text COLUMN"
    ),
    "parquet": Form(read_parquet, "a document a row: a column of lists (sentences), or as csv"),
    "dataset": Form(
        read_dataset, "a Hugging Face data set: a folder or a name; columns as parquet"
    ),
    "text": Form(read_text, "a sentence a line, a blank line between documents"),
    "paragraphs": Form(read_paragraphs, "running text, a paragraph a document"),
}
"""By the name that `bert4so data prepare` takes."""
