"""Notes below a table: facts about its runs that a reader must know."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from bert4so.experiments.finished_cell import FinishedCell, WordVectors
from bert4so.experiments.plan_file import PlannedCell
from bert4so.experiments.results import (
    Results,
    equally_trained,
    on_one_machine,
)

GLOVE = ("glove.6B.100d.txt", 400_000)
"""The published GloVe vectors: file name and number of words."""


def notes(results: Results, cells: Sequence[PlannedCell]) -> list[str]:
    """The notes on the cells of a table."""
    finished = results.finished_of(cells)
    lines = [
        *stand_ins(results, list(dict.fromkeys(cell.corpus for cell in cells))),
        *_components(finished, results.plan.least_gap),
        *_samples(finished),
    ]
    if len(finished) < len(cells):
        missing = f"{len(cells) - len(finished)} of {len(cells)} runs"
        lines.append(f"Not yet run: {missing}; – marks entries without any run.")
    lines += _speed_variation(finished) + _machines(finished)
    for what, kinds in (
        ("versions of the source", Counter(cell.source for cell in finished)),
        ("versions of PyTorch", Counter(cell.machine.torch for cell in finished)),
    ):
        if len(kinds) > 1:
            counts = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
            lines.append(f"These runs used {len(kinds)} {what}: {counts}.")
    return lines


def _speed_variation(cells: Sequence[FinishedCell]) -> list[str]:
    """How much other work on the machine may have changed the training speed."""
    ratios = [max(speeds) / min(speeds) for speeds in (c.tokens_per_second for c in cells)]
    if not ratios:
        return []
    return [
        "In the fastest fifth of a run, training processed "
        f"{median(ratios):.2f} times as many tokens per second of CPU time as in the slowest fifth "
        f"(median over the runs; maximum {max(ratios):.2f})."
    ]


def _machines(cells: Sequence[FinishedCell]) -> list[str]:
    """The runs on each machine, if there are several machines."""
    if on_one_machine(cells):
        return []
    machines, unequal = [], []
    for name in dict.fromkeys(cell.machine.label for cell in cells):
        corpora = Counter(cell.corpus for cell in cells if cell.machine.label == name)
        runs = ", ".join(f"{n} on {corpus}" for corpus, n in corpora.items())
        machines.append(f"{name} ({runs})")
    for corpus in dict.fromkeys(cell.corpus for cell in cells):
        if not equally_trained(cell for cell in cells if cell.corpus == corpus):
            unequal.append(corpus)
    note = (
        f"These runs are from {len(machines)} machines, whose times are not comparable: "
        f"{'; '.join(machines)}."
    )
    if unequal:
        note += f" On {', '.join(unequal)} they are not equally trained, so none is marked as best."
    return [note]


def _components(cells: Sequence[FinishedCell], least_gap: float) -> list[str]:
    """Encoders, word vectors, taggers, aggregations and details of the loss."""
    settings = [cell.settings for cell in cells]
    encoders = {one.encoder for one in settings if one.encoder}
    vectors = {_vectors(cell.vectors) for cell in cells if cell.vectors}
    taggers = {cell.tagger for cell in cells if cell.tagger}
    aggregations = {one.aggregation for one in settings if one.aggregation}
    gaps = {f"{least_gap:g}" for one in settings if one.gamma is not None and one.gamma < 1}
    templates = [
        ("Encoder: {}; the paper's is BERT-base.", encoders),
        ("Word vectors: {}.", vectors),
        ("Nouns for SE-Graph: {}.", taggers),
        ("Aggregation of B-TSort's pairs: {}; the paper's is topological sorting.", aggregations),
        # The paper's formula can be negative, and then has no logarithm.
        ("For γ < 1, the loss clips γ - F at {}; the paper does not define this case.", gaps),
    ]
    return [text.format(", ".join(sorted(values))) for text, values in templates if values]


def _vectors(vectors: WordVectors) -> str:
    """A file of word vectors; some copies of GloVe are incomplete."""
    incomplete = vectors.file == GLOVE[0] and vectors.words != GLOVE[1]
    of_all = f" of its {GLOVE[1]:,}" if incomplete else ""
    return f"{vectors.file} ({vectors.words:,}{of_all} words)"


def _samples(cells: Sequence[FinishedCell]) -> list[str]:
    """The numbers of documents."""
    sizes = dict.fromkeys(
        f"{cell.corpus}{' joined' if cell.settings.joined else ''} {cell.training_documents:,} / "
        f"{cell.valid.documents:,} / {cell.test.documents:,}"
        for cell in cells
    )
    if not sizes:
        return []
    counts = ", ".join(sizes)
    limited = any(c.settings.valid_documents or c.settings.test_documents for c in cells)
    sampled = " From larger splits, documents were sampled by their ids." if limited else ""
    return [f"Documents for training / validation / test: {counts}.{sampled}"]


def stand_ins(results: Results, corpora: Sequence[str]) -> list[str]:
    """The corpora that are not the paper's, and how they differ."""
    planned = {name: results.plan.corpora[name] for name in corpora}
    differences = [f"{name}: {one.stand_in}" for name, one in planned.items() if one.stand_in]
    if not differences:
        return []
    return [f"Stand-ins, not comparable with the paper's corpora. {'; '.join(differences)}."]
