"""Fits the rates of tensor-core products (ir/machine/GpuModel.cpp) to tiles that a GPU measured,
and prints their regret.

    tile_fit.py PROGRAM TILES.csv [--fit]

PROGRAM is tile-estimates of the build: the equations are the compiler's own. The regret of a shape
is the measured time of the tile with the smallest estimate over the least measured time. Without
--fit the rates are the compiler's; with it they are fitted anew to all rows, and for each shape to
all rows but its own, which is what the goals are for: a geometric mean of at most 1.12 and none
above 1.4.

The fit is a least-squares fit of log(estimate / measured) with a soft L1 loss. A row counts less
the slower it is beside the best of its shape, since nobody takes it, and the rows of a shape count
as much together as those of any other. A weak pull to where the fit begins keeps rates that no row
shows.
"""
import argparse
import csv
import math
import subprocess

import numpy as np

PULL = 0.05


class Estimates:
    """The compiler's estimates of all rows as a function of its rates."""

    def __init__(self, program, path):
        self.process = subprocess.Popen([program, path], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().split()
        self.names = words[0::2]
        self.rates = np.array([float(value) for value in words[1::2]])

    def __call__(self, rates):
        print(*(f"{rate:.9g}" for rate in rates), file=self.process.stdin, flush=True)
        return np.array([float(value) for value in self.process.stdout.readline().split()])


def read(path):
    with open(path) as file:
        rows = list(csv.DictReader(file))
    shapes = [tuple(int(row[key]) for key in "mnk") for row in rows]
    return rows, shapes, np.array([float(row["min_us"]) for row in rows])


def weights(shapes, measured):
    least, count = {}, {}
    for shape, time in zip(shapes, measured):
        least[shape] = min(least.get(shape, math.inf), time)
        count[shape] = count.get(shape, 0) + 1
    return np.array([math.exp(-1.25 * (time / least[shape] - 1)) * math.sqrt(40 / count[shape])
                     for shape, time in zip(shapes, measured)])


def fit(estimates, start, of, measured, weight, evaluations):
    from scipy.optimize import least_squares

    def residuals(logarithms):
        errors = np.log(estimates(np.exp(logarithms))[of] / measured[of])
        return np.concatenate([weight[of] * errors, PULL * (logarithms - np.log(start))])

    found = least_squares(residuals, np.log(start), loss="soft_l1", f_scale=0.1, diff_step=1e-3,
                          max_nfev=evaluations)
    return np.exp(found.x)


def regret(times, measured, of):
    return measured[of][np.argmin(times[of])] / measured[of].min()


def mean(values):
    return math.exp(np.mean(np.log(values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("tiles")
    parser.add_argument("--fit", action="store_true",
                        help="fit the rates anew; takes SciPy and a few minutes")
    arguments = parser.parse_args()
    estimates = Estimates(arguments.program, arguments.tiles)
    rows, shapes, measured = read(arguments.tiles)
    times = estimates(estimates.rates)
    if len(times) != len(rows):
        raise SystemExit(f"{len(rows) - len(times)} of {len(rows)} rows are of tiles that the compiler no longer has: take them out of "
                         f"{arguments.tiles}, or measure anew")
    distinct = sorted(set(shapes))
    of = {shape: np.array([other == shape for other in shapes]) for shape in distinct}

    def report(what, regrets):
        print(
            f"{what}: geometric mean of the regret {mean(regrets):.3f}, worst {max(regrets):.2f}, {len(regrets)} shapes"
        )

    error = np.abs(np.log(times / measured))
    print(f"the compiler's rates: half of the {len(rows)} estimates are within {100 * (math.exp(np.median(error)) - 1):.0f} % of the "
          f"measured time, 90 % within {100 * (math.exp(np.quantile(error, 0.9)) - 1):.0f} %")
    report("the compiler's rates", [regret(times, measured, of[shape]) for shape in distinct])
    if not arguments.fit:
        return
    weight = weights(shapes, measured)
    everything = np.full(len(rows), True)
    rates = fit(estimates, estimates.rates, everything, measured, weight, 40)
    print("fitted rates:",
          ", ".join(f"{name} {rate:.4g}" for name, rate in zip(estimates.names, rates)))
    times = estimates(rates)
    report("fitted to all rows", [regret(times, measured, of[shape]) for shape in distinct])
    left_out = []
    for shape in distinct:
        times = estimates(fit(estimates, rates, ~of[shape], measured, weight, 15))
        left_out.append(regret(times, measured, of[shape]))
        print(f"  {'x'.join(map(str, shape)):16} {left_out[-1]:.2f}", flush=True)
    report("fitted without the rows of the shape that is judged", left_out)


main()
