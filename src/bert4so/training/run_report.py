"""The report of a finished run: metrics, predictions, curves and a model card."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bert4so.common.machine import machine
from bert4so.common.progress import progress_bar
from bert4so.config.schema import RunConfig
from bert4so.config.toml import dump_toml
from bert4so.data.corpus import Corpus
from bert4so.document import Puzzle
from bert4so.evaluation.evaluate import Prediction, measure, prediction_records, truth_records
from bert4so.evaluation.metrics import Metrics
from bert4so.io.atomic import write_atomic
from bert4so.io.jsonl import write_records
from bert4so.training.checkpoint import load_model
from bert4so.training.clock import Clock
from bert4so.training.curves import plot_history
from bert4so.training.distributed import on_cpu, processes, solve_together, take_device
from bert4so.training.history import History


def write_report(
    run: RunConfig, splits: Corpus, folder: Path, history: History, epoch_tokens: int, command: str
) -> dict[str, Metrics]:
    """Evaluate the model that was kept on the test documents, and write the report.

    All processes of a distributed job share the evaluation; the main process writes.

    epoch_tokens: number of tokens of all training documents.
    """
    processes().wait_for_everyone()  # until the main process has written the model
    measured, solved, cpu_seconds = {"valid": history.best.metrics}, list[Prediction](), 0.0
    if splits.test:
        _, model = load_model(folder)
        take_device(model)
        # Trigger lazy loading before the clock starts.
        model.order([Puzzle(splits.valid[0].sentences)])
        clock = Clock(on_cpu())
        with progress_bar("testing", len(splits.test), processes().is_main_process) as advance:
            solved = solve_together(model, splits.test, splits.seed, advance)
        cpu_seconds = clock.cpu_seconds()
        measured["test"] = measure(solved)
    if processes().is_main_process:
        facts = {
            "command": command,
            **_facts(run, history, measured),
            "training_documents": len(splits.train),
            "epoch_tokens": epoch_tokens,
            "test_cpu_seconds": round(cpu_seconds, 4),
        }
        if run.join or run.hold_out:
            facts["left_out_of_training"] = splits.left_out
        _write(run, folder, history, facts, measured, solved)
    return measured


def _write(
    run: RunConfig,
    folder: Path,
    history: History,
    facts: dict[str, Any],
    measured: dict[str, Metrics],
    solved: Sequence[Prediction],
) -> None:
    plot_history(history, folder / "curves.png")
    if solved:
        write_records(folder / "predictions.jsonl", prediction_records(solved))
        write_records(folder / "truth.jsonl", truth_records(solved))
    # A path or an argument may contain bytes that are not UTF-8.
    card = _card(run, folder, facts, measured).encode(errors="backslashreplace")
    write_atomic(folder / "README.md", card)
    # Written last: it marks the run as finished.
    write_atomic(folder / "metrics.json", (json.dumps(facts, indent=1) + "\n").encode())


def _facts(run: RunConfig, history: History, measured: dict[str, Metrics]) -> dict[str, Any]:
    return {
        "run": json.loads(run.model_dump_json()),
        "machine": machine(),
        **{split: asdict(metrics) for split, metrics in measured.items()},
        "epoch": history.best.epoch,
        "steps": len(history.steps),
        "tokens": sum(step.tokens for step in history.steps),
        "minutes": round(history.steps[-1].seconds / 60, 2),
        "cpu_minutes": round(history.steps[-1].cpu_seconds / 60, 2),
        "tokens_per_second": round(history.tokens_per_second),
        "padding": round(history.padding, 4),
    }


def _card(run: RunConfig, folder: Path, facts: dict[str, Any], measured: dict[str, Metrics]) -> str:
    on = facts["machine"]
    rows = "\n".join(
        f"| {split} | {m.documents} | {m.tau:.4f} | {100 * m.pmr:.2f} | {100 * m.accuracy:.2f} |"
        for split, m in measured.items()
    )
    return f"""# {run.system} on {Path(run.corpus).name}

Puts sentences in order: `bert4so order text.txt --model {folder}`. Trained by `{facts["command"]}`.

| split | documents | τ | PMR | accuracy |
|---|---|---|---|---|
{rows}

The model of epoch {facts["epoch"]}, selected by τ + PMR on the validation documents. Averages
exclude documents of one sentence. Trained for {facts["minutes"]} minutes on {on["cores"]} cores of
{on["processor"]}: {facts["tokens_per_second"]} tokens per second, {facts["padding"]:.1%} padding.

```toml
{dump_toml(run).strip()}
```
"""
