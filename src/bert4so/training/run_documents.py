"""The documents of a run: its own corpus, joined corpora, and samples of them."""

from collections.abc import Sequence
from dataclasses import replace

from bert4so.common.progress import say
from bert4so.config.schema import RunConfig
from bert4so.data.corpus import Corpus, find_corpus, read_splits, sample_documents
from bert4so.data.join import join
from bert4so.io.on_error import OnBad, stop


def splits_of(run: RunConfig, on_bad: OnBad = stop, own: Corpus | None = None) -> Corpus:
    """Read the documents of a run: its corpus and the joined ones, joined and sampled.

    own: the run's corpus, if it is already in memory.
    """

    def sample(splits: Corpus) -> Corpus:
        # Before joining, which changes the ids: the sample of a corpus is always the same.
        return replace(splits, train=sample_documents(splits.train, run.train_documents))

    def read(name: str, needed: Sequence[str]) -> Corpus:
        return read_splits(find_corpus(name), on_bad, needed)

    splits = sample(own or read(run.corpus, ["train", "valid"]))
    if run.join or run.hold_out:
        joined = {name: sample(read(name, ["train"])) for name in run.join}
        held = [read_splits(find_corpus(n), on_bad, needed=["test"]) for n in run.hold_out]
        splits = join(splits, joined, held)
        say(
            f"{len(splits.train)} training documents; {splits.left_out} left out, "
            "which overlap with a validation or test set"
        )
    # After joining, so that all validation and test documents are kept out of training.
    return replace(
        splits,
        valid=sample_documents(splits.valid, run.valid_documents),
        test=sample_documents(splits.test, run.test_documents),
    )
