"""Table 3 of an experiment: how large its corpora are, counted once and kept."""

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
    """Count the corpora of an experiment that are there and have not been counted."""
    known = _known(plan, results)
    wanted = {name: corpus.folder for name, corpus in plan.corpora.items() if name not in known}
    with progress_bar("counting", len(wanted), shown=bool(wanted)) as advance:
        for name, folder in wanted.items():
            try:
                known[name] = {"folder": folder, **asdict(_counted(find_corpus(folder)))}
            except UserError as error:  # of this corpus: the others may do
                say(f"{name} is not counted: {error}")
                continue
            write_atomic(results / FILE, (json.dumps(known, indent=1) + "\n").encode())
            advance(1)


def read_statistics(plan: Plan, results: Path) -> dict[str, Statistics]:
    """The statistics of an experiment's corpora that were counted, by their names in the paper."""
    return {
        name: Statistics(
            documents=facts["documents"],
            sentences=tuple(facts["sentences"]),
            pieces=tuple(facts["pieces"]),
            tokens=tuple(facts["tokens"]),
        )
        for name, facts in _known(plan, results).items()
    }


def _known(plan: Plan, results: Path) -> dict[str, dict[str, Any]]:
    """What the file says, but for a corpus that was another folder when it was counted."""
    path = results / FILE
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: found[name]
        for name, corpus in plan.corpora.items()
        if name in found and found[name].get("folder") == corpus.folder
    }


def _counted(folder: Path) -> Statistics:
    return statistics(read_existing_splits(folder), load_tokenizer())
