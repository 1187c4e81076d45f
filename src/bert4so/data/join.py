"""Join training sets without the documents that any of them is tested on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bert4so.data.corpus import Corpus
from bert4so.data.overlap import overlaps
from bert4so.document import Document


def join(own: Corpus, others: Mapping[str, Corpus], held_out_too: Sequence[Corpus] = ()) -> Corpus:
    """Add the training documents of other corpora to a corpus.

    A training document is left out, and counted, if it equals or shares two or more sentences
    with a validation or test document of any corpus, including those of `held_out_too`, whose
    training documents are not used. The validation and test splits are those of `own`.
    """
    added = [
        Document(f"{name}/{document.id}", document.sentences)
        for name, corpus in others.items()
        for document in corpus.train
    ]
    corpora = [own, *others.values(), *held_out_too]
    held_out = [document for corpus in corpora for document in (*corpus.valid, *corpus.test)]
    candidates = [*own.train, *added]
    leaked = {
        overlap.document
        for overlap in overlaps({"train": candidates, "held out": held_out})
        if (overlap.group, overlap.other) == ("train", "held out")
    }
    kept = [document for document in candidates if document not in leaked]
    return replace(own, train=kept, left_out=len(candidates) - len(kept))
