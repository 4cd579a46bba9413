"""The trainer of the first layer against torch.autograd and torch.optim in float64, trajectory by trajectory."""

import numpy as np
import pytest
import torch

from shallow import nets
from shallow.data import single_index
from shallow.stats import stream
from shallow.train import first_layer, vector_math
from shallow.train.first_layer import GD, Adam

RULES = {"GD": GD(), "Adam": Adam(), "uncorrected": Adam(corrected=False), "coarse": Adam(True, 0.8, 0.95, 1e-3)}
SCALINGS = {"NTK": nets.ntk, "mean field": nets.mean_field}
DEVICES = [None, "cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]


def problem(n=30, d=8, h=12, *, seed=0, scaling="NTK", link="softplus"):
    teacher = single_index.random_teacher(stream("test", seed, "teacher"), d, link=link)
    x, y = single_index.split(teacher, n, seed=seed, dtype=np.float64).train
    return x, y, SCALINGS[scaling](stream("test", seed, "student"), h, d)


def in_type(student, dtype):
    """A student in another number type."""
    return nets.Student(student.W.astype(str(dtype).removeprefix("torch.")), student.a, student.scale)


def softplus(student):
    """The student of another activation with the same weights."""
    return nets.SoftplusStudent(student.W, student.a, student.scale)


def objective(W, x, y, student, factor):
    activation = torch.nn.Softplus(threshold=50) if isinstance(student, nets.SoftplusStudent) else torch.tanh
    hidden = activation(student.scale * torch.tensor(x) @ W.T)
    f = hidden @ torch.tensor(student.a) / len(student.a) ** 0.5
    return factor * ((f - torch.tensor(y)) ** 2).mean()


def reference(x, y, student, rule, *, rate, steps, decay=1.0, factor=1.0, normalise=None):
    """W after 0, 1, ..., steps updates, by autograd and torch.optim; uncorrected Adam by the document's eq. 4 and 5."""
    W = torch.tensor(student.W, requires_grad=True)
    first, second = torch.zeros_like(W), torch.zeros_like(W)
    if isinstance(rule, GD):
        optimizer = torch.optim.SGD([W], lr=rate)
    else:
        optimizer = torch.optim.Adam([W], lr=rate, betas=(rule.beta1, rule.beta2), eps=rule.eps)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=decay)

    @torch.no_grad()
    def to_unit_entries():
        W.copy_(W * np.sqrt(W.numel()) / torch.linalg.norm(W))

    if normalise == "after":
        to_unit_entries()
    path = [W.detach().numpy().copy()]
    for t in range(steps):
        if normalise == "before":
            to_unit_entries()
        optimizer.zero_grad()
        objective(W, x, y, student, factor).backward()
        if getattr(rule, "corrected", True):
            optimizer.step()
            schedule.step()
        else:
            first = rule.beta1 * first + (1 - rule.beta1) * W.grad
            second = rule.beta2 * second + (1 - rule.beta2) * W.grad**2
            with torch.no_grad():
                W.sub_(rate * decay**t * first / (second.sqrt() + rule.eps))
        if normalise == "after":
            to_unit_entries()
        path.append(W.detach().numpy().copy())
    return path


def trajectory(*arguments, steps, **options):
    options |= {"steps": steps, "records": range(steps + 1), "dtype": torch.float64}
    return [student.W for student in first_layer.train(*arguments, **options).values]


def distance(first, second):
    return max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("activation", "size"), [("tanh", 1.0), ("softplus", 1.0), ("softplus", 300.0)])
def test_gradient_and_loss_are_those_of_autograd(activation, size, device, scaling, factor):
    """The softplus also where its pre-activations are in the hundreds, on both sides of 0."""
    x, y, plain = problem(scaling=scaling)
    student, trainer = nets.Student(size * plain.W, plain.a, plain.scale), first_layer.Trainer
    if activation == "softplus":
        student, trainer = softplus(student), first_layer.SoftplusTrainer
    trainer = trainer(x, y, student, GD(), factor=factor, dtype=torch.float64, device=device)
    W = torch.tensor(student.W, requires_grad=True)
    objective(W, x, y, student, factor).backward()
    assert torch.abs(trainer.gradient().cpu() - W.grad).max() < 1e-14 * torch.abs(W.grad).max() + 1e-16
    assert float(trainer.loss) == pytest.approx(factor * np.mean((student.forward(x) - y) ** 2), rel=1e-13)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("normalise", [None, "before"])
@pytest.mark.parametrize("rule", RULES)
def test_softplus_trajectories_are_those_of_torch_optim(rule, normalise, device):
    x, y, plain = problem()
    student, options = softplus(plain), dict(rate=0.05, steps=10, normalise=normalise)
    expected = reference(x, y, student, RULES[rule], **options)
    kept = dict(normalise=normalise, dtype=torch.float64, device=device)
    trainer = first_layer.SoftplusTrainer(x, y, student, RULES[rule], **kept)
    for W in expected[1:]:
        trainer.step(0.05)
        found = trainer.student
        assert isinstance(found, nets.SoftplusStudent) and distance([found.W], [W]) < 1e-9
    tanh = trajectory(x, y, plain, RULES[rule], **options)[-1]
    assert distance([tanh], [expected[-1]]) > 1e-3  # another activation, another run


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("normalise", [None, "before", "after"])
@pytest.mark.parametrize("decay", [1.0, 0.6])
@pytest.mark.parametrize("rule", RULES)
def test_trajectories_are_those_of_torch_optim(rule, decay, normalise, device):
    """Every weight at each of ten steps, for a small and for a large learning rate."""
    for seed, rate in enumerate((0.05, 30.0 if rule == "GD" else 1.0)):
        x, y, student = problem(seed=seed)
        options = dict(rate=rate, steps=10, decay=decay, factor=0.5 + seed / 2, normalise=normalise)
        expected = reference(x, y, student, RULES[rule], **options)
        assert distance(trajectory(x, y, student, RULES[rule], device=device, **options), expected) < 1e-9
        assert distance([expected[-1]], [expected[0]]) > 1e-3  # it has moved


@pytest.mark.parametrize("device", [None, "cpu"])
def test_both_normalisations_see_the_same_weights_in_every_forward_pass(device):
    """Bit for bit; only the recorded weights differ, by a factor, and after the update their norm is that of W0."""
    x, y, student = problem(n=60, d=20, h=30)
    for rule, rate in ((GD(), 100.0), (Adam(), 1.0)):
        code, text = (
            first_layer.Trainer(x, y, in_type(student, torch.float32), rule, normalise=when, device=device)
            for when in ("before", "after")
        )
        for _ in range(5):
            gradients = [trainer.gradient() for trainer in (code, text)]
            for trainer in (code, text):
                assert float(torch.linalg.norm(trainer.W)) == pytest.approx(np.sqrt(600), rel=1e-6)
            assert torch.equal(code.W, text.W) and torch.equal(*gradients)
            for trainer, gradient in zip((code, text), gradients, strict=True):
                trainer.update(gradient, rate)
        raw, scaled = code.student.W, text.student.W
        assert np.linalg.norm(scaled) == pytest.approx(np.sqrt(600), rel=1e-6)
        assert np.linalg.norm(raw) != pytest.approx(np.sqrt(600), rel=1e-2)
        assert distance([raw / np.linalg.norm(raw)], [scaled / np.linalg.norm(scaled)]) < 1e-6


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rule", ["GD", "Adam"])
def test_single_precision_follows_double_precision(rule, device):
    x, y, student = problem(n=200, d=40, h=60)
    single, double = (
        first_layer.train(x, y, in_type(student, dtype), RULES[rule], rate=0.1, steps=10, dtype=dtype, device=device)
        for dtype in (torch.float32, torch.float64)
    )
    assert single.network.W.dtype == np.float32 and double.network.W.dtype == np.float64
    difference = np.abs(single.network.W - double.network.W)
    assert np.median(difference) < 1e-6 and single.loss == pytest.approx(double.loss, rel=1e-5)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_gradient_serves_all_first_steps(dtype, device):
    x, y, student = problem()
    student, options = in_type(student, dtype), dict(dtype=dtype, factor=0.5, device=device)
    rules, rates = list(RULES.values()), (0.01, 1.0, 100.0)
    found = list(first_layer.students(x, y, student, rules, rates, **options))
    assert [(rule, rate) for rule, rate, _ in found] == [(rule, rate) for rule in rules for rate in rates]
    for rule, rate, moved in found:
        run = first_layer.train(x, y, student, rule, rate=rate, steps=1, **options)
        assert (moved.W == run.network.W).all() and moved.scale == student.scale
    assert (student.W == in_type(problem()[2], dtype).W).all()


def test_records_losses_and_measures():
    x, y, student = problem()
    options = {"rate": 1.0, "steps": 6, "dtype": torch.float64}
    run = first_layer.train(x, y, student, GD(), **options)
    assert list(run.steps) == [0, 6] and (run.values[0].W == student.W).all()
    assert (run.values[1].W == run.network.W).all()
    options |= {"records": [0, 2, 3], "measure": lambda now: np.mean((now.forward(x) - y) ** 2)}
    measured = first_layer.train(x, y, student, GD(), **options)
    assert measured.values == pytest.approx(list(run.loss[[0, 2, 3]]), rel=1e-12) and run.loss.shape == (6,)
    nothing = first_layer.train(x, y, student, Adam(), rate=1.0, steps=0, dtype=torch.float64)
    assert list(nothing.steps) == [0] and nothing.loss.shape == (0,)


@pytest.mark.parametrize("device", [None, "cpu"])
def test_weights_and_gradients_may_be_changed_between_steps(device):
    """What the open questions need: a penalty added to the gradient, and weights replaced after a step."""
    x, y, student = problem()
    trainer = first_layer.Trainer(x, y, student, GD(), dtype=torch.float64, device=device)
    trainer.update(trainer.gradient() + 0.1 * trainer.W, 0.5)
    plain = trajectory(x, y, student, GD(), rate=0.5, steps=1, device=device)[-1]
    assert distance([trainer.student.W], [plain - 0.05 * student.W]) < 1e-14
    trainer.W.copy_(torch.tensor(student.W))
    trainer.step(0.5)
    assert np.array_equal(trainer.student.W, plain) and trainer.taken == 2
    other = first_layer.Trainer(x, y, student, Adam(), dtype=torch.float64, device=device)
    other.W = torch.tensor(student.W.T.copy()).T  # another tensor, its numbers in another order
    other.step(0.5)
    assert np.array_equal(other.student.W, trajectory(x, y, student, Adam(), rate=0.5, steps=1, device=device)[-1])
    with pytest.raises(ValueError, match=r"gradient must have the shape \(12, 8\) of W, got \(11, 8\)"):
        other.update(torch.ones(11, 8, dtype=torch.float64), 0.5)


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
@pytest.mark.parametrize("normalise", [None, "before", "after"])
@pytest.mark.parametrize("rule", RULES)
def test_compiled_steps_are_those_of_pytorch(rule, normalise, activation):
    """More points than go through the passes together; 1e-12 in double, some roundings in single precision."""
    x, y, student = problem(n=first_layer.passes.BLOCK + 100, d=20, h=30)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        start, found = in_type(student, dtype), {}
        kind = first_layer.SoftplusTrainer if activation == "softplus" else first_layer.Trainer
        start = softplus(start) if activation == "softplus" else start
        for device in (None, "cpu"):
            trainer = kind(x, y, start, RULES[rule], normalise=normalise, factor=0.7, dtype=dtype, device=device)
            losses = [trainer.step(0.1 * 0.9**t) for t in range(5)]
            assert all(loss.dtype == dtype and loss.shape == () for loss in losses)
            found[device] = trainer.student.W, np.array([float(loss) for loss in losses])
        assert distance([found[None][0]], [found["cpu"][0]]) < tolerance
        np.testing.assert_allclose(found[None][1], found["cpu"][1], rtol=tolerance)


@pytest.mark.parametrize(("real", "error"), [(np.float32, 3e-7), (np.float64, 6e-16)])
def test_softplus_and_its_slope_equal_numpys_relatively(real, error):
    """Up to a rounding of z itself, which a slope of e^z magnifies by |z|."""
    z = np.concatenate([np.linspace(-80, 80, 20_001), np.linspace(-2, 2, 20_001), [0.0, 1e-30, -1e-30]]).astype(real)
    value, slope = in_a_loop(first_layer.passes.softplus(real), z)
    exact = z.astype(np.longdouble)
    within = error * (1 + np.abs(exact))
    assert (np.abs(value / np.logaddexp(exact, 0) - 1) < within).all()
    assert (np.abs(slope * (1 + np.exp(-exact)) - 1) < within).all()
    value, slope = in_a_loop(first_layer.passes.softplus(real), np.array([np.inf, -np.inf, np.nan, -1e9], real))
    assert value[0] == np.inf and slope[0] == 1 and np.isnan([value[2], slope[2]]).all()
    assert max(value[1], slope[1], value[3], slope[3]) < 1e-37


def in_a_loop(function, z):
    """Both values of a compiled function at all points."""

    @vector_math.compiled
    def loop(z, first, second):
        for i in range(len(z)):
            first[i], second[i] = function(z[i])

    first, second = np.empty_like(z), np.empty_like(z)
    loop(z, first, second)
    return first, second
