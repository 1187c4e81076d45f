"""What a pass is worth: python benchmarks/passes.py CORPUS... --out FILE.json.

Every document that fits a row is read in many independent shuffles. The answer of K passes is by
the mean over K of them, as `bert4so order --passes K` has it; told are its Kendall's tau and PMR,
and how often two answers of K other shuffles each are the same order, which is how much of an
answer is luck. And with the shuffles of `bert4so order`, which follow from the sentences: how often
the same sentences, given in another order, are answered the same, and a document alone as among
others.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert4so.data.corpus import find_corpus, read_split, sample_documents
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.evaluation.metrics import average
from bert4so.inference.onnx_model import ExportedModel
from bert4so.inference.orderer import BUNDLED, Orderer
from bert4so.inference.windows import fits_a_row
from harness import arguments, show, write_results

PASSES = (1, 2, 4, 8)

View = list[NDArray[np.float64]]
"""The score of each sentence of each document, by its true place."""


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--split", default="test")
    parser.add_argument("--documents", type=int, default=100)
    args = parser.parse_args()
    model = ExportedModel.load(args.model)
    found, promised = [], {}
    for corpus in args.corpora:
        name = Path(corpus).name
        documents = sample_documents(read_split(find_corpus(corpus), args.split), args.documents)
        documents = [d for d in documents if fits_a_row(model.packer, Puzzle(d.sentences))]
        views = [view(model, documents, f"{k}") for k in range(2 * max(PASSES))]
        found += [{"corpus": name, "passes": k} | worth(views, k) for k in PASSES]
        promised[name] = promises(Orderer.from_pretrained(args.model), documents)
        show(name, [*found[-len(PASSES) :], promised[name]])
    write_results(args.out, {"split": args.split, "found": found, "promised": promised})


def view(model: ExportedModel, documents: Sequence[Document], seed: str) -> View:
    """What the model gives to documents in one shuffle of each."""
    puzzles = [shuffle(document, seed) for document in documents]
    orderings = model.order([puzzle.without_answer() for puzzle in puzzles])
    scores = [np.array(ordering.scores) for ordering in orderings]
    return [given[puzzle.order] for given, puzzle in zip(scores, puzzles, strict=True)]


def worth(views: Sequence[View], passes: int) -> dict[str, float]:
    """What so many passes give: of all the sets of so many shuffles that there are."""
    answers = [answer(views[k : k + passes]) for k in range(0, len(views), passes)]
    metrics = [average((order, list(range(len(order)))) for order in some) for some in answers]
    pairs = zip(answers[::2], answers[1::2], strict=True)
    same = [a == b for one, other in pairs for a, b in zip(one, other, strict=True)]
    return {
        "documents": len(answers[0]),
        "tau": round(float(np.mean([m.tau for m in metrics])), 4),
        "pmr": round(float(np.mean([m.pmr for m in metrics])), 4),
        "consistency": round(float(np.mean(same)), 4),
    }


def promises(orderer: Orderer, documents: Sequence[Document]) -> dict[str, float]:
    """How often an answer is the same as another to the same sentences, as users ask."""
    one, other = (
        [shuffle(document, f"promise/{k}") for document in documents] for k in ("one", "other")
    )
    first, second = (
        [ordering.sentences for ordering in orderer.order_all([p.sentences for p in puzzles])]
        for puzzles in (one, other)
    )
    alone = [orderer.order(puzzle.sentences).sentences for puzzle in one]
    return {
        "shuffled otherwise": float(np.mean([a == b for a, b in zip(first, second, strict=True)])),
        "alone": float(np.mean([a == b for a, b in zip(first, alone, strict=True)])),
    }


def answer(views: Sequence[View]) -> list[list[int]]:
    """The orders by the mean of some views."""
    return [np.argsort(-np.mean(scores, axis=0)).tolist() for scores in zip(*views, strict=True)]


if __name__ == "__main__":
    main()
