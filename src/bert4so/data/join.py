"""Several training sets as one, with nothing in it that any of them is tested on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bert4so.data.corpus import Corpus
from bert4so.data.overlap import overlaps
from bert4so.document import Document


def join(own: Corpus, others: Mapping[str, Corpus], held_out_too: Sequence[Corpus] = ()) -> Corpus:
    """The corpus with the training documents of the others added.

    Left out, and counted, is every training document, its own included, that stands in any
    validation or test set, whole or with two or more sentences; also in one of `held_out_too`,
    whose training documents are not used. Validation and test stay the corpus's own.
    """
    added = [
        Document(f"{name}/{document.id}", document.sentences)
        for name, splits in others.items()
        for document in splits.train
    ]
    every = [own, *others.values(), *held_out_too]
    held_out = [document for splits in every for document in (*splits.valid, *splits.test)]
    candidates = [*own.train, *added]
    leaked = {
        shared.document
        for shared in overlaps({"train": candidates, "held out": held_out})
        if (shared.group, shared.other) == ("train", "held out")
    }
    kept = [document for document in candidates if document not in leaked]
    return replace(own, train=kept, left_out=len(candidates) - len(kept))
