"""Random models whose data decide what runs: a seed gives a model and inputs for it."""
import random as randoms

import lists
import plain
import extents
from control import branch, loop, scan
from model import Model, Tensor, TooLarge, Value

import numpy as np

CONTROL = [(branch, 4), (loop, 5), (scan, 2)]
SIZES = range(1, 7)
MOST_OUTPUTS = 8


def grower(random):
    makers = plain.MAKERS + extents.MAKERS + lists.MAKERS
    # A model mostly has a theme.
    weights = [weight * random.choice([1, 1, 3]) for _, weight in makers]
    control = [weight * random.choice([1, 1, 3]) for _, weight in CONTROL]

    def grow(scope, count):
        for _ in range(count):
            if random.random() < (0.25 if scope.depth == 0 else 0.12):
                random.choices([maker for maker, _ in CONTROL], control)[0](scope, random, grow)
            else:
                random.choices([maker for maker, _ in makers], weights)[0](scope, random)

    return grow


def inputs(model, random):
    """Inputs, and for each a function from sizes of the symbols to an array."""
    symbols = [model.token(1, 6) for _ in range(2)]
    fills = []

    def add(type, fill):
        value = Value(model.name("x"), type)
        model.inputs.append(value)
        model.main.values.append(value)
        fills.append((value, fill))

    for _ in range(random.randint(1, 3)):
        dims = tuple(
            random.choice([*symbols, *symbols, random.randint(1, 4)])
            for _ in range(random.choice([1, 2, 2, 2, 3])))
        if random.random() < 0.6:
            add(Tensor("f32", dims, -4, 4),
                lambda data, shape: data.integers(-4, 5, shape).astype(float))
        else:
            add(Tensor("f32", dims, -4, 4, False),
                lambda data, shape: data.uniform(-2, 2, shape).astype(np.float32).astype(float))
    for dims in random.sample([(), (1,), (symbols[0],), (2,)], random.randint(1, 3)):
        add(Tensor("i64", dims, 0, 4), lambda data, shape: data.integers(0, 5, shape))
    if random.random() < 0.7:
        add(Tensor("bool", random.choice([(), (), (1, ), (symbols[1], )]), 0, 1),
            lambda data, shape: data.integers(0, 2, shape).astype(bool))
    return symbols, fills


class Candidate:
    """`model`, and `runs`: for each, arrays of the inputs, exact outputs and how far each may be
    off."""

    def __init__(self, seed, attempt, count):
        random = randoms.Random(f"{seed}.{attempt}")
        self.model = Model(random)
        symbols, fills = inputs(self.model, random)
        grow = grower(random)
        grow(self.model.main, random.randint(4, 14))
        for sequence in [value for value in self.model.main.values if plain.is_sequence(value)]:
            lists.length_of(self.model.main, sequence)
        self.choose_outputs(random)
        self.data = []
        for run in range(count):
            data = np.random.default_rng([seed, attempt, run])
            chosen = {symbol: int(data.choice(SIZES)) for symbol in symbols}
            self.data.append([
                fill(data, [chosen.get(dim, dim) for dim in value.type.dims])
                for value, fill in fills
            ])
        self.judge()

    def choose_outputs(self, random):
        model, read = self.model, set()
        for node in model.main.nodes:
            read |= {value.name for value in node.inputs if value}
        made = [
            value for node in model.main.nodes for value in node.outputs
            if isinstance(value.type, Tensor) and value in model.main.values
        ]
        leaves = [value for value in made if value.name not in read]
        others = [value for value in made if value.name in read and random.random() < 0.1]
        if not leaves:
            raise TooLarge
        model.keep((model.outputs + leaves + others)[-MOST_OUTPUTS:])

    def judge(self):
        """Runs the model in NumPy, once exactly and twice with tiny changes."""
        self.runs = []
        for number, arrays in enumerate(self.data):
            exact = self.model.run(arrays)
            noisy = [
                self.model.run(arrays, np.random.default_rng([number, change]))
                for change in range(2)
            ]
            allowed = [
                None if value.type.is_whole else
                16 * sum(np.abs(other - wanted)
                         for other in others) + 2.0**-19 * (1 + np.abs(wanted))
                for value, wanted, *others in zip(self.model.outputs, exact, *noisy)
            ]
            self.runs.append((arrays, exact, allowed))


def candidate(seed, runs=3):
    for attempt in range(200):
        try:
            return Candidate(seed, attempt, runs)
        except TooLarge:
            continue
    raise AssertionError(f"seed {seed} gives no model")
