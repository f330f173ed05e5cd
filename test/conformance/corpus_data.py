"""Images and text of the corpus (DLC_CORPUS), prepared as the networks there want them: pairs of inputs, f32 or i64, and labels."""
import gzip
import os

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
    mean, deviation = (np.array(three, np.float32).reshape(3, 1, 1) for three in ((.485, .456, .406), (.229, .224, .225)))
    return (pixels / 255 - mean) / deviation, labels


def shakespeare():
    """24 texts of 256 tokens of stories260k's vocabulary."""
    return np.load(os.path.join(FOLDER, "text", "shakespeare_tok512_T256_first24.npy")).astype(np.int64)
