"""Table 3 of an experiment: how large its corpora are, counted once and kept."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bert4so.common.progress import progress_bar, say
from bert4so.data.corpus import find_corpus, splits_there
from bert4so.data.stats import statistics
from bert4so.errors import UserError
from bert4so.experiments.plan import Experiment
from bert4so.io.atomic import write_whole
from bert4so.text.encoder_files import load_tokenizer

FILE = "statistics.json"


def write_statistics(experiment: Experiment, results: Path) -> None:
    """Count what has not been counted, of the corpora that are there."""
    known = read_statistics(experiment, results)
    wanted = {name: place.folder for name, place in experiment.corpora.items() if name not in known}
    with progress_bar("counting", len(wanted), shown=bool(wanted)) as advance:
        for name, folder in wanted.items():
            try:
                known[name] = {"folder": folder, **_counted(find_corpus(folder))}
            except UserError as error:  # of this corpus: the others may do
                say(f"{name} is not counted: {error}")
                continue
            write_whole(results / FILE, (json.dumps(known, indent=1) + "\n").encode())
            advance(1)


def read_statistics(experiment: Experiment, results: Path) -> dict[str, Any]:
    """What was counted of the experiment's corpora, by their names in the paper.

    Not of those that were called so when the experiment was another, or whose folder is not told.
    """
    path = results / FILE
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: found[name]
        for name, place in experiment.corpora.items()
        if name in found and found[name].get("folder") == place.folder
    }


def _counted(folder: Path) -> dict[str, Any]:
    return asdict(statistics(splits_there(folder), load_tokenizer()))
