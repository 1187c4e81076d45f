"""What trials share: inputs, models, and the results of commands that nothing disturbed."""

import json
import shutil
import subprocess
import time
from functools import cache, cached_property
from pathlib import Path
from random import Random

from torture.commands import bert4so_process, in_new_process
from torture.texts import words
from training import TinyTraining

ANSWER_FORMS = (".jsonl.gz", ".jsonl", ".jsonl.zst", ".parquet")
"""A sample has the first, so that what it is compared with is made once."""

STORIES = 3000
"""Documents of the input of `order`: in packed forms, pieces of 1,024 and what is left."""


class Workspace:
    """A folder in which everything is made once, when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def stories(self) -> Path:
        """A JSONL file of many short documents, all different."""
        rng, path = Random("stories"), self.folder / "stories.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for k in range(STORIES):
                sentences = [f"{k} {words(rng, 2)}." for _ in range(1 + (k % 8 == 0))]
                file.write(json.dumps({"id": f"é{k}", "sentences": sentences, "k": k}) + "\n")
        return path

    @cache  # noqa: B019 (a workspace lives as long as the process)
    def answers(self, form: str) -> Path:
        """A folder with OUT, and what stands beside it, of an `order` that nothing disturbed."""
        folder = self.folder / f"answers{form}"
        folder.mkdir()
        result = in_new_process(*self.order(folder, form))
        assert result.code == 0, result.err
        return folder

    @cache  # noqa: B019
    def unfinished_answers(self, form: str) -> Path:
        """The same of an `order` that was killed once it had written something."""
        folder = self.folder / f"unfinished{form}"
        folder.mkdir()
        process = bert4so_process(*self.order(folder, form), stderr=subprocess.DEVNULL)
        while size(folder / f"out{form}") < 1000 and process.poll() is None:
            time.sleep(0.002)
        process.kill()
        process.wait()
        assert process.returncode < 0, "it ended before it was killed"
        return folder

    def order(self, folder: Path, form: str) -> list[object]:
        """The arguments of an `order` that writes OUT in a folder, or resumes it."""
        return ["order", self.stories, "--out", folder / f"out{form}", "--resume"]

    @cached_property
    def training(self) -> TinyTraining:
        """A corpus and the command that trains a tiny model on it in seconds."""
        return TinyTraining.create(self.folder / "training")

    @cached_property
    def run(self) -> Path:
        """The folder of a finished run."""
        self.training.finish("whole")
        return self.training.place / "whole"

    @cached_property
    def unfinished_run(self) -> Path:
        """The folder of a run that was killed after it had validated and written snapshots."""
        training = self.training
        process = training.start("unfinished")
        process.wait_for(lambda: training.has_snapshot("unfinished", training.STEPS * 3 // 4))
        process.kill()
        process.communicate()
        assert process.returncode != 0, "it ended before it was killed"
        return training.place / "unfinished"

    @cached_property
    def corpus(self) -> Path:
        """A corpus with a data card."""
        rng, source = Random("corpus"), self.folder / "source.jsonl"
        with source.open("w", encoding="utf-8") as file:
            for k in range(60):
                sentences = [f"{words(rng, 4)} {k}é." for _ in range(rng.randint(2, 5))]
                file.write(json.dumps({"id": f"{k}", "sentences": sentences}) + "\n")
        out = self.folder / "corpus"
        result = in_new_process("data", "prepare", "jsonl", source, "--out", out)
        assert result.code == 0, result.err
        return out


def contents(path: Path) -> dict[str, bytes]:
    """The bytes of a file, or of each file of a folder; empty if there is neither."""
    if path.is_file():
        return {"": path.read_bytes()}
    files = (file for file in path.rglob("*") if file.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def size(path: Path) -> int:
    return sum(map(len, contents(path).values()))


def flip_bit(path: Path, rng: Random) -> int:
    """Flip one bit of a file; in which byte."""
    content = bytearray(path.read_bytes())
    place = rng.randrange(len(content))
    content[place] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return place


def copied(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target))
