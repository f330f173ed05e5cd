"""Philox 4x32-10 (Salmon et al., SC'11), and the distributions that dlc's library makes of it, in
double precision."""
import numpy as np

FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
STEPS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
LOWER, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def words(x, draw, seed):
    """The four words of each counter, of 128 bits: `x` is its lower half, `draw` its upper one."""
    x, draw, seed = np.broadcast_arrays(*(np.asarray(value).astype(np.int64).view(np.uint64)
                                          for value in (x, draw, seed)))
    c = [x & LOWER, x >> HALF, draw & LOWER, draw >> HALF]
    keys = [seed & LOWER, seed >> HALF]
    for _ in range(10):
        a, b = c[0] * FACTORS[0], c[2] * FACTORS[1]
        c = [(b >> HALF) ^ c[1] ^ keys[0], b & LOWER, (a >> HALF) ^ c[3] ^ keys[1], a & LOWER]
        keys = [(key + step) & LOWER for key, step in zip(keys, STEPS)]
    return c


def bits(generator, shape):
    """The words of a random tensor's elements."""
    seed, draw = generator
    return [
        word.reshape(shape).astype(np.float64)
        for word in words(np.arange(int(np.prod(shape))), draw, seed)
    ]


#: Bits of a uniform number of each dtype.
DIGITS = {"f32": 24, "f16": 11, "bf16": 8}


def uniform(generator, shape, dtype="f32"):
    word = bits(generator, shape)
    if dtype == "f64":
        return (np.floor(word[0] / 32) * 2**26 + np.floor(word[1] / 64)) * 2.0**-53
    digits = DIGITS[dtype]
    return np.floor(word[0] / 2.0 ** (32 - digits)) * 2.0**-digits


def opened(word):
    return word * 2.0**-32 + 2.0**-33


def normal(generator, shape):
    word = bits(generator, shape)
    return np.sqrt(-2 * np.log(opened(word[0]))) * np.cos(2 * np.pi * opened(word[1]))


def exponential(generator, shape):
    return -np.log(opened(bits(generator, shape)[0]))
