"""The documents of a run: its own corpus, the joined ones, and its samples."""

from collections.abc import Sequence
from dataclasses import replace

from bert4so.common.progress import say
from bert4so.config.schema import RunConfig
from bert4so.data.corpus import Corpus, find_corpus, read_splits, sample_documents
from bert4so.data.join import join
from bert4so.io.on_error import OnBad, stop


def splits_of(run: RunConfig, on_bad: OnBad = stop, own: Corpus | None = None) -> Corpus:
    """The documents of a run: its corpus, what is learned beside it, and its samples.

    own: the corpus of the run, where it is not to be read from disk.
    """

    def sample(splits: Corpus) -> Corpus:
        # By the ids of the corpus itself: the same documents whether it is the run's own or joined.
        return replace(splits, train=sample_documents(splits.train, run.train_documents))

    def read(name: str, needed: Sequence[str]) -> Corpus:
        return read_splits(find_corpus(name), on_bad, needed)

    splits = sample(own or read(run.corpus, ["train", "valid"]))
    if run.join or run.hold_out:
        joined = {name: sample(read(name, ["train"])) for name in run.join}
        held = [read_splits(find_corpus(n), on_bad, needed=["test"]) for n in run.hold_out]
        splits = join(splits, joined, held)
        say(
            f"{len(splits.train)} documents to learn from; {splits.left_out} left out, "
            "which also stand in a validation or test set"
        )
    # After joining: what is held out and not in the sample is held out all the same.
    return replace(
        splits,
        valid=sample_documents(splits.valid, run.valid_documents),
        test=sample_documents(splits.test, run.test_documents),
    )
