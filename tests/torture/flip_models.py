"""One bit of a model's folder is flipped; then `order --model`."""

from collections.abc import Iterable

import hostile
from bert4so.inference.orderer import BUNDLED
from forked import Forked
from torture.commands import fault, forked_result
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, failed
from torture.workspace import copied, flip_bit


def flip_models(trial: Trial) -> Iterable[Outcome]:
    """Weights have no checksum: a model that is damaged may order otherwise, but must order."""
    source = (trial.workspace.run, BUNDLED)[trial.number % 2]
    folder = copied(source, trial.folder / "model")
    path = trial.rng.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
    what = f"byte {flip_bit(path, trial.rng)} of {source.name}/{path.relative_to(folder)}"
    stories = trial.folder / "story.txt"
    stories.write_text("\n".join(hostile.SENTENCES))
    process = Forked(["order", stories, "--model", folder], trial.folder)
    result = forked_result(process)
    if wrong := fault(result):
        yield failed(f"{what}: {wrong}")
    elif result.code:
        yield REFUSED
    else:
        same = sorted(result.out.splitlines()) == sorted(hostile.SENTENCES)
        yield HELD if same else failed(f"{what}: printed {result.out[:300]!r}")


KIND = Kind(
    name="flip-models",
    what="a flipped bit in a run's folder or an exported model",
    trials=70,
    sample=3,
    run=flip_models,
)
