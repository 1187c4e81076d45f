"""All numbers that the BERT4SO paper (Zhu et al., 2021) reports."""

from bert4so.data.stats import PaperStatistics

CORPORA = ("NeurIPS", "AAN", "NSF", "SIND", "ROCStory")

TITLES = {
    "cnn-ptrnet": "CNN + PtrNet",
    "lstm-ptrnet": "LSTM + PtrNet",
    "variant-lstm-ptrnet": "Variant-LSTM + PtrNet",
    "att-order-net": "ATTOrderNet",
    "hierarchical-att-net": "HierarchicalATTNet",
    "se-graph": "SE-Graph",
    "att-order-net-two-loss": "ATTOrderNet + TwoLoss",
    "rank-tx-net": "RankTxNet",
    "b-tsort": "B-TSort",
    "bert4so": "BERT4SO",
    "bert4so-list-mle": "BERT4SO with ListMLE",
}
"""The rows of Table 1, by name of the system in an experiment."""

ROWS = """
cnn-ptrnet             0.6976 19.36  0.6700 28.75  0.4460  5.95  0.4197  9.50  0.6538 27.06
lstm-ptrnet            0.7373 20.95  0.7394 38.30  0.5460 10.68  0.4833 12.96  0.6787 28.24
variant-lstm-ptrnet    0.7258 22.02  0.7521 40.67  0.5544 10.97  0.4878 13.57  0.6852 30.28
att-order-net          0.7466 21.22  0.7493 40.71  0.5494 10.48  0.4823 12.27  0.7011 34.32
hierarchical-att-net   0.7008 19.63  0.6956 30.29  0.5073  8.12  0.4814 11.01  0.6873 31.73
se-graph               0.7370 24.63  0.7616 41.63  0.5602 10.94  0.4804 12.58  0.6852 31.36
att-order-net-two-loss 0.7357 23.63  0.7531 41.59  0.4918  9.39  0.4952 14.09  0.7302 40.24
rank-tx-net            0.7684 26.12  0.7744 38.84  0.4899  6.81  0.5528 14.80  0.7333 30.19
b-tsort                0.7884 30.59  0.8064 48.08  0.4813  7.88  0.5632 17.35  0.7941 48.06
bert4so                0.7778 30.70  0.8076 45.41  0.6379 13.00  0.5916 19.07  0.8487 55.65
bert4so-list-mle       0.7516 24.13  0.8045 44.42  0.6344 12.78  0.5998 18.83  0.8468 55.04
"""
"""Table 1: Kendall's tau and PMR on each corpus, in the order of `CORPORA`."""

TABLE_1 = {
    (system, corpus): (float(numbers[2 * k]), float(numbers[2 * k + 1]))
    for system, *numbers in map(str.split, ROWS.strip().splitlines())
    for k, corpus in enumerate(CORPORA)
}
"""Table 1 by system and corpus."""

TABLE_2 = {"NeurIPS": (0.7916, 30.85), "AAN": (0.8265, 48.62), "NSF": (0.5884, 11.65)}
"""Table 2: Kendall's tau and PMR of BERT4SO trained on all three corpora."""

TABLE_3 = {
    "NeurIPS": PaperStatistics({"train": 2448, "valid": 409, "test": 402}, (181.73, 512)),
    "AAN": PaperStatistics({"train": 8569, "valid": 962, "test": 2626}, (134.95, 1030)),
    "NSF": PaperStatistics({"train": 96017, "valid": 10185, "test": 21573}, (263.62, 2923)),
    "SIND": PaperStatistics({"train": 40155, "valid": 4990, "test": 5055}, (58.61, 288)),
    "ROCStory": PaperStatistics({"train": 78529, "valid": 9816, "test": 9816}, (52.84, 100)),
}
"""Table 3: sizes of the corpora."""

CHOSEN = {"model.gamma": "γ = 1", "model.layers": "two layers"}
"""The values that the paper chooses on its validation documents (appendix C)."""

COST = {"NSF": 11, "SIND": 7}
"""Training time of B-TSort divided by that of BERT4SO (the paper's fourth observation)."""

BEST_ON, EVEN_ON = ("NSF", "SIND", "ROCStory"), ("NeurIPS", "AAN")
"""Corpora on which BERT4SO is best, and on which B-TSort is as good (observations 1 and 4)."""

WITH_BERT = ("rank-tx-net", "b-tsort", "bert4so")
"""The systems with BERT, which are better than the others (the paper's second observation)."""


def table_3_row(name: str) -> PaperStatistics | None:
    """The row of a corpus, by its name (case-insensitive); None if the paper does not have it."""
    rows = {corpus.lower(): row for corpus, row in TABLE_3.items()}
    return rows.get(name.lower())
