"""What must be known of the runs that a table is made of."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from bert4so.experiments.finished_cell import FinishedCell, WordVectors
from bert4so.experiments.plan_file import PlannedCell
from bert4so.experiments.results import (
    Results,
    of_equal_training,
    of_one_machine,
)

GLOVE = ("glove.6B.100d.txt", 400_000)
"""GloVe's vectors as their authors hand them out: the file, and its words."""


def notes(results: Results, cells: Sequence[PlannedCell]) -> list[str]:
    """What must be known of the cells of a table."""
    found = results.of(cells)
    made = [
        *stand_ins(results, list(dict.fromkeys(cell.corpus for cell in cells))),
        *_means(found, results.plan.least_gap),
        *_samples(found),
    ]
    if len(found) < len(cells):
        missing = f"{len(cells) - len(found)} of {len(cells)} runs"
        made.append(f"Not yet run: {missing}; –: all those of an entry.")
    made += _pace(found) + _machines(found)
    for what, kinds in (
        ("versions of the source", Counter(cell.source for cell in found)),
        ("versions of PyTorch", Counter(cell.machine.torch for cell in found)),
    ):
        if len(kinds) > 1:
            told = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
            made.append(f"These runs are of {len(kinds)} {what}: {told}.")
    return made


def _pace(found: Sequence[FinishedCell]) -> list[str]:
    """How much the machine's other work may have changed what equal time is worth."""
    spreads = [max(paces) / min(paces) for paces in (c.tokens_per_second for c in found)]
    if not spreads:
        return []
    return [
        "The fastest fifth of a run learned from "
        f"{median(spreads):.2f} times as many tokens a second of CPU time as its slowest (median "
        f"over the runs; at most {max(spreads):.2f} times)."
    ]


def _machines(found: Sequence[FinishedCell]) -> list[str]:
    """Which runs were made on which machine, where there were several."""
    if of_one_machine(found):
        return []
    told, mixed = [], []
    for name in dict.fromkeys(cell.machine.label for cell in found):
        corpora = Counter(cell.corpus for cell in found if cell.machine.label == name)
        told.append(f"{name} ({', '.join(f'{n} on {corpus}' for corpus, n in corpora.items())})")
    for corpus in dict.fromkeys(cell.corpus for cell in found):
        if not of_equal_training(cell for cell in found if cell.corpus == corpus):
            mixed.append(corpus)
    made = (
        f"These runs are of {len(told)} machines, whose times are not the same: {'; '.join(told)}."
    )
    if mixed:
        made += f" On {', '.join(mixed)} they had no equal training: none is called the better."
    return [made]


def _means(found: Sequence[FinishedCell], least_gap: float) -> list[str]:
    """What the systems were made with."""
    settings = [cell.settings for cell in found]
    encoders = {one.encoder for one in settings if one.encoder}
    vectors = {_vectors(cell.vectors) for cell in found if cell.vectors}
    taggers = {cell.tagger for cell in found if cell.tagger}
    aggregations = {one.aggregation for one in settings if one.aggregation}
    gaps = {f"{least_gap:g}" for one in settings if one.gamma is not None and one.gamma < 1}
    told = [
        ("Encoder: {}; the paper's is BERT-base.", encoders),
        ("Word vectors: {}.", vectors),
        ("SE-Graph's nouns by {}.", taggers),
        (
            "B-TSort's pairs are put together by {}; in the paper by topological sorting.",
            aggregations,
        ),
        # As the paper prints it, it may be negative, and has no logarithm then.
        ("For γ < 1 the loss takes γ - F as no less than {}; the paper does not say.", gaps),
    ]
    return [text.format(", ".join(sorted(given))) for text, given in told if given]


def _vectors(given: WordVectors) -> str:
    """A file of word vectors; there are copies of GloVe's that are not whole."""
    in_part = given.file == GLOVE[0] and given.words != GLOVE[1]
    of_all = f" of its {GLOVE[1]:,}" if in_part else ""
    return f"{given.file} ({given.words:,}{of_all} words)"


def _samples(found: Sequence[FinishedCell]) -> list[str]:
    """How many documents there were."""
    sizes = dict.fromkeys(
        f"{cell.corpus}{' joined' if cell.settings.joined else ''} {cell.training_documents:,} / "
        f"{cell.valid.documents:,} / {cell.test.documents:,}"
        for cell in found
    )
    if not sizes:
        return []
    counts = ", ".join(sizes)
    limited = any(c.settings.valid_documents or c.settings.test_documents for c in found)
    drawn = " Where there are more, these were drawn by their ids." if limited else ""
    return [f"Documents trained on / chosen by / tested on: {counts}.{drawn}"]


def stand_ins(results: Results, corpora: Sequence[str]) -> list[str]:
    """Which corpora are not the paper's, and in which way."""
    places = {name: results.plan.corpora[name] for name in corpora}
    told = [f"{name}: {place.stand_in}" for name, place in places.items() if place.stand_in]
    return [f"Stand-ins, not comparable with the paper's. {'; '.join(told)}."] if told else []
