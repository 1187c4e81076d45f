from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, GradientState

from bert4so.evaluation.metrics import average
from bert4so.systems import SYSTEMS
from bert4so.training.history import History, Validation
from bert4so.training.learner import OPTIMIZERS, Learner, make_optimizer, parameter_groups
from bert4so.training.schedule import by_epoch, by_time, linear, linear_in_time
from conftest import tiny_run


def learned(encoder, folder, puzzles, **train):
    """The orderings of the model after two steps, and the results of the steps."""
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    calm = {"dropout": 0.0, "encoder_dropout": 0.0}
    run = tiny_run("bert4so", encoder, folder, model=calm, train=train)
    torch.manual_seed(0)
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, []))
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=run.train.accumulate)
    learner = Learner(accelerator, model, run.train)
    steps = [learner.step(puzzles, rate) for rate in (0.5, 1)]
    return model.order(puzzles), steps


@pytest.mark.parametrize("fused_from, kind", [(1000, "eager"), (1, "sdpa")])
def test_the_attention_kernel_of_bf16_on_a_cpu_does_not_change_the_result(
    encoder, tmp_path, puzzles, monkeypatch, fused_from, kind
):
    run = tiny_run("bert4so", encoder, tmp_path, train={"precision": "bf16"})
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, [])).eval()
    before = model.order(puzzles)
    AcceleratorState._reset_state(reset_partial_state=True)
    Learner(Accelerator(cpu=True), model, run.train)
    monkeypatch.setattr("bert4so.modeling.encoder.MIN_FUSED_TOKENS", fused_from)
    for one, other in zip(before, model.order(puzzles), strict=True):
        assert one.before == pytest.approx(other.before, abs=1e-5)
    assert model.sentence_encoder.row.encoder.config._attn_implementation == kind


@pytest.mark.parametrize("accumulate", [2, 3, 8])
def test_documents_weigh_the_same_in_shares_of_any_size(encoder, tmp_path, puzzles, accumulate):
    # Seven documents: 2 or 3 shares are uneven, and one of 8 shares is empty.
    whole, steps = learned(encoder, tmp_path, puzzles[:7])
    parts, steps_in_parts = learned(encoder, tmp_path, puzzles[:7], accumulate=accumulate)
    for one, other in zip(whole, parts, strict=True):
        # Not the scores: the gradient of their common bias is only noise.
        assert one.before == pytest.approx(other.before, abs=1e-4)
    for one, other in zip(steps, steps_in_parts, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-4)
        assert one.tokens == other.tokens


def test_a_step_reports_the_mean_loss_and_its_padding(encoder, tmp_path, puzzles):
    _, (first, second) = learned(encoder, tmp_path, puzzles[:7])
    assert second.loss < first.loss
    assert first.tokens < first.padded_tokens
    assert second.learning_rate > first.learning_rate


def test_the_linear_schedule():
    share = linear(steps=10, warmup=0.2)
    assert [share(taken) for taken in range(10)] == pytest.approx(
        [0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8]
    )
    assert share(10) == 0
    assert linear(steps=4, warmup=0)(0) == 1
    assert linear(steps=4, warmup=1)(3) == 1


def test_the_schedule_by_epoch_of_a_run_with_a_time_limit():
    share = by_time(epochs=4, decay=0.5)
    assert [share(progress) for progress in (0, 0.24, 0.25, 0.74, 0.75, 1, 1.1)] == [
        *(1, 1, 0.5, 0.25),
        *(0.125, 0.0625, 0.0625),
    ]


def test_the_schedule_by_epoch():
    share = by_epoch(steps_per_epoch=3, decay=0.5)
    assert [share(taken) for taken in range(8)] == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_the_linear_schedule_of_a_run_with_a_time_limit():
    share = linear_in_time(warmup=0.2)
    assert [share(x) for x in (0.1, 0.2, 0.6, 1.0, 1.7)] == pytest.approx(
        [0.5, 1, 0.5, 0, 0], abs=1e-4
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_can_use_every_optimizer(system, name, encoder, documents, tmp_path):
    run = tiny_run(system, encoder, tmp_path, train={"optimizer": {"name": name}})
    built = SYSTEMS[system].build(run.model, SYSTEMS[system].make_input(run.model, documents))
    assert type(make_optimizer(built, run.train)).__name__.lower() == name


def test_embeddings_have_no_weight_decay(encoder, documents, tmp_path):
    run = tiny_run("att-order-net", encoder, tmp_path)
    built = SYSTEMS["att-order-net"].build(
        run.model, SYSTEMS["att-order-net"].make_input(run.model, documents)
    )
    decays = {
        id(weight): group["weight_decay"]
        for group in parameter_groups(built, run.train)
        for weight in group["params"]
    }
    assert decays[id(built.sentence_encoder.vectors.weight)] == 0
    assert max(decays.values()) == 1e-5


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_optimizer_gets_its_options(encoder, tmp_path, name):
    own = {"adadelta": {"rho": 0.95}, "adam": {"beta2": 0.98}, "adagrad": {"accumulator": 0.1}}
    numbers = own.get(name, {})
    chosen = {"name": name, "eps": 1e-7, "weight_decay": 0.5, **numbers}
    run = tiny_run("bert4so", encoder, tmp_path, train={"optimizer": chosen})
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, []))
    optimizer = make_optimizer(model, run.train)
    assert type(optimizer).__name__.lower() == name
    for group in optimizer.param_groups:
        assert group["eps"] == 1e-7
        assert group["weight_decay"] in (0.5, 0)
        assert group.get("rho", 0.95) == 0.95
        assert group.get("initial_accumulator_value", 0.1) == 0.1
        if name == "adam":
            assert group["betas"] == (0.9, 0.98)


@pytest.mark.parametrize("kept", ["learned", "fixed"])
def test_fixed_embeddings_are_not_trained(encoder, tmp_path, puzzles, kept):
    run = tiny_run("bert4so", encoder, tmp_path, model={"embeddings": kept})
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, []))
    words = model.sentence_encoder.row.encoder.get_input_embeddings().weight
    before = words.detach().clone()
    Learner(Accelerator(cpu=True), model, run.train).step(puzzles)
    assert words.equal(before) == (kept == "fixed")


def test_patience_counts_validations_since_the_best():
    def validated(*taus):
        metrics = average([([0, 1], [0, 1])])
        return History([], [Validation(k, k, replace(metrics, tau=t)) for k, t in enumerate(taus)])

    assert not validated(0.1, 0.3, 0.2).patience_exhausted(2)
    assert validated(0.1, 0.3, 0.2, 0.3).patience_exhausted(2)
    assert not validated(0.1, 0.3, 0.2, 0.4).patience_exhausted(2)
    assert not validated(0.3, 0.2, 0.1, 0.1).patience_exhausted(0)


def test_each_part_has_its_learning_rate_and_vectors_have_no_weight_decay(encoder, tmp_path):
    rates = {"sentence_encoder": 1.0, "document_encoder": 2.0, "decoder": 3.0}
    run = tiny_run("bert4so", encoder, tmp_path, train={"learning_rate": rates})
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, []))
    for group in parameter_groups(model, run.train):
        for weight in group["params"]:
            (name,) = [name for name, own in model.named_parameters() if own is weight]
            assert group["lr"] == rates[name.split(".")[0]]
            decayed = weight.ndim > 1 and "embeddings" not in name
            assert (group["weight_decay"] > 0) == decayed
