"""`bert4so.train`: train a model from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert4so.data.corpus import Corpus, find_corpus
from bert4so.errors import UserError
from bert4so.io.on_error import OnError, handling
from bert4so.training.run import Run

if TYPE_CHECKING:
    from bert4so.config.schema import RunConfig


def train(
    config: str | Path | Mapping[str, Any],
    *,
    out: str | Path,
    corpus: str | Path | Corpus | None = None,
    resume: bool = False,
    on_error: OnError = "raise",
) -> Run:
    """Train a model, and evaluate it on the test documents.

    Requires PyTorch: `pip install 'bert4so[train]'`. Reports progress on stderr.

    Args:
        config: A TOML file, as in `configs/`, or the same settings as a dictionary, for example
            `{"system": "bert4so", "scale": "desk", "train": {"epochs": 2}}`. Other settings have
            the defaults of the system.
        out: The folder to write: the model, its metrics, predictions, curves and model card.
        corpus: A folder or the name of a corpus, as for `load_corpus`, or a `Corpus`; by default
            the corpus in the configuration.
        resume: Continue an unfinished run in `out` from its newest snapshot.
        on_error: `"raise"` a `UserError` for the first document that cannot be read or used, or
            `"skip"` such documents and report them on stderr.

    Raises:
        UserError: A setting, the corpus or the folder is invalid, or PyTorch is not installed.

    >>> run = train("configs/sample.toml", out="runs/sample")
    >>> run.metrics["test"].tau
    >>> run.orderer().order(["Then we ate.", "We cooked."])
    """
    # Imported here: `import bert4so` must not load PyTorch.
    try:
        from bert4so.training.loop import train as fill_folder
        from bert4so.training.run_documents import splits_of
        from bert4so.training.run_folder import check_folder, hold_folder
    except ModuleNotFoundError as error:
        raise UserError(
            f"training needs {error.name}, which is not installed: pip install 'bert4so[train]'"
        ) from None
    settings = _settings(config, corpus)
    own = corpus if isinstance(corpus, Corpus) else None
    if own is None:
        find_corpus(settings.corpus)  # fails before anything is written
    folder = Path(out)
    with hold_folder(folder), handling(on_error) as on_bad:
        check_folder(folder, resume)
        splits = splits_of(settings, on_bad, own)
        fill_folder(settings, splits, folder, "bert4so.train", resume, on_bad=on_bad)
    return Run(folder)


def _settings(
    config: str | Path | Mapping[str, Any], corpus: str | Path | Corpus | None
) -> "RunConfig":
    from bert4so.config.toml import read_toml
    from bert4so.systems.run_config import make_run

    values = read_toml(Path(config)) if isinstance(config, str | Path) else dict(config)
    if corpus is not None:
        values["corpus"] = corpus.name if isinstance(corpus, Corpus) else str(corpus)
    return make_run(values, "config" if isinstance(config, Mapping) else str(config))
