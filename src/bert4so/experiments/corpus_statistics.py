"""Table 3 of an experiment: the sizes of its corpora, counted once and cached in a file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bert4so.common.progress import progress_bar, say
from bert4so.data.corpus import find_corpus, read_existing_splits
from bert4so.data.stats import Statistics, statistics
from bert4so.errors import UserError
from bert4so.experiments.plan_file import Plan
from bert4so.io.atomic import write_atomic
from bert4so.text.encoder_files import load_tokenizer

FILE = "statistics.json"


def write_statistics(plan: Plan, results: Path) -> None:
    """Count the corpora of an experiment that have not been counted; skip missing ones."""
    counts = _read_counts(plan, results)
    missing = {name: corpus.folder for name, corpus in plan.corpora.items() if name not in counts}
    with progress_bar("counting", len(missing), shown=bool(missing)) as advance:
        for name, folder in missing.items():
            try:
                counts[name] = {"folder": folder, **asdict(_statistics(find_corpus(folder)))}
            except UserError as error:  # the other corpora may be valid
                say(f"{name} is not counted: {error}")
                continue
            write_atomic(results / FILE, (json.dumps(counts, indent=1) + "\n").encode())
            advance(1)


def read_statistics(plan: Plan, results: Path) -> dict[str, Statistics]:
    """The statistics of the corpora that have been counted, by name in the paper."""
    return {
        name: Statistics(
            documents=facts["documents"],
            sentences=tuple(facts["sentences"]),
            pieces=tuple(facts["pieces"]),
            tokens=tuple(facts["tokens"]),
        )
        for name, facts in _read_counts(plan, results).items()
    }


def _read_counts(plan: Plan, results: Path) -> dict[str, dict[str, Any]]:
    """The content of the file, without corpora that had another folder when they were counted."""
    path = results / FILE
    stored: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: stored[name]
        for name, corpus in plan.corpora.items()
        if name in stored and stored[name].get("folder") == corpus.folder
    }


def _statistics(folder: Path) -> Statistics:
    return statistics(read_existing_splits(folder), load_tokenizer())
