"""Images and text of the corpus (DLC_CORPUS), prepared as the networks there want them: pairs of
inputs, f32 or i64, and labels."""
import gzip
import os
import struct

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get("DLC_CORPUS", os.path.join(HERE, "..", "..", "..", "shared", "corpus"))
FOLDER = os.path.join(CORPUS, "datasets")


def resized(images, size):
    """Bilinear, corners not aligned: torch.nn.functional.interpolate's default, in NumPy."""
    count = images.shape[-1]
    centre = np.maximum((np.arange(size) + 0.5) * count / size - 0.5, 0)
    low = centre.astype(int)
    high = np.minimum(low + 1, count - 1)
    part = (centre - low).astype(np.float32)
    rows = images[..., low, :] * (1 - part)[:, None] + images[..., high, :] * part[:, None]
    return (rows[..., low] * (1 - part) + rows[..., high] * part).astype(np.float32)


def mnist():
    """5,000 digits [1, 28, 28], 0 to 1."""
    folder = os.path.join(FOLDER, "mnist")
    with gzip.open(os.path.join(folder, "t10k-first5000-images-idx3-ubyte.gz")) as source:
        pixels = np.frombuffer(source.read()[16:], np.uint8).reshape(-1, 1, 28, 28)
    with gzip.open(os.path.join(folder, "t10k-first5000-labels-idx1-ubyte.gz")) as source:
        labels = np.frombuffer(source.read()[8:], np.uint8)
    return pixels / np.float32(255), labels


def large_mnist():
    """The same as [1, 32, 32]."""
    images, labels = mnist()
    return resized(images, 32), labels


def cifar():
    """2,000 pictures [3, 32, 32], 0 to 255."""
    folder = os.path.join(FOLDER, "cifar10_jpeg_no_licence_stated")
    images = np.load(os.path.join(folder, "images_u8_nhwc.npy")).transpose(0, 3, 1, 2)
    return images.astype(np.float32), np.load(os.path.join(folder, "labels.npy"))


def normalised_cifar():
    """The same with the mean and the deviation of ImageNet."""
    pixels, labels = cifar()
    mean, deviation = (np.array(three, np.float32).reshape(3, 1, 1)
                       for three in ((.485, .456, .406), (.229, .224, .225)))
    return (pixels / 255 - mean) / deviation, labels


def enlarged_cifar(count=500):
    """The first `count` of the pictures as [3, 96, 96], 0 to 1, and no labels: they are not of the
    classes of the network that reads them."""
    return resized(cifar()[0][:count] / 255, 96)


def shakespeare():
    """24 texts of 256 tokens of stories260k's vocabulary."""
    return np.load(os.path.join(FOLDER, "text",
                                "shakespeare_tok512_T256_first24.npy")).astype(np.int64)


def later_shakespeare(count=128, length=256):
    """`count` texts of as many tokens each from a later place of the same plays: i64 [count, 1,
    length]."""
    with open(os.path.join(FOLDER, "text", "tinyshakespeare.txt"), "rb") as source:
        text = source.read()[400_000:]
    with open(os.path.join(CORPUS, "models", "stories260k_T64", "tok512.bin"), "rb") as source:
        data = source.read()
    vocabulary, place = {}, 4  # piece -> (token, score), behind the length of the longest
    while place < len(data):
        score, size = struct.unpack_from("<fi", data, place)
        vocabulary.setdefault(data[place + 8:place + 8 + size], (len(vocabulary), score))
        place += 8 + size
    tokens, begin, known = [], 1, {}
    for line in text.splitlines(keepends=True):
        if line not in known:
            known[line] = tokens_of(line, vocabulary)
        tokens += known[line]
        if len(tokens) >= count * (length - 1):
            break
    rows = np.array(tokens[:count * (length - 1)], np.int64).reshape(count, 1, length - 1)
    return np.concatenate([np.full((count, 1, 1), begin), rows], axis=2)


def tokens_of(line, vocabulary):
    """Byte pair encoding: the pair of neighbours that makes the piece of the highest score is
    joined, until none does."""
    pieces = [bytes([byte]) if bytes([byte]) in vocabulary else b"<0x%02X>" % byte for byte in line]
    while True:
        joined = [(vocabulary[a + b][1], -i) for i, (a, b) in enumerate(zip(pieces, pieces[1:]))
                  if a + b in vocabulary]
        if not joined:
            return [vocabulary[piece][0] for piece in pieces]
        place = -max(joined)[1]
        pieces[place:place + 2] = [pieces[place] + pieces[place + 1]]


def own_story():
    """The story that stories260k tells, as a text of its tokens."""
    return np.load(os.path.join(CORPUS, "models", "stories260k_dyn",
                                "expected_tokens.npy")).astype(np.int64).reshape(1, -1)
