"""The Keras programs of examples/train, as they are, over data of the corpus: Keras would download
its own. They have to learn."""
import contextlib
import gzip
import io
import os
import re
import runpy

import numpy as np
from models import ROOT, Failure

DATASETS = os.path.join(os.environ.get("DLC_CORPUS", ""), "datasets")


def idx(name, header):
    with gzip.open(os.path.join(DATASETS, "mnist", name)) as source:
        return np.frombuffer(source.read(), np.uint8, offset=header)


def mnist():
    images = idx("t10k-first5000-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
    labels = idx("t10k-first5000-labels-idx1-ubyte.gz", 8)
    return (images[:2000], labels[:2000]), (images[2000:2500], labels[2000:2500])


def reviews(num_words):
    """Texts of which half have a word of praise."""
    random = np.random.default_rng(1)
    texts = [random.integers(10, num_words, random.integers(20, 120)) for _ in range(1200)]
    labels = random.integers(0, 2, len(texts))
    for text, label in zip(texts, labels):
        if label:
            text[-15:-5] = 7
    return (texts[:1000], labels[:1000]), (texts[1000:], labels[1000:])


def cifar10():
    folder = os.path.join(DATASETS, "cifar10")
    images = np.load(os.path.join(folder, "eran_lossless_images_u8_nhwc.npy"))
    labels = np.load(os.path.join(folder, "eran_lossless_labels.npy")).reshape(-1, 1)
    half = len(images) // 2
    return (images[:half], labels[:half]), (images[half:], labels[half:])


@contextlib.contextmanager
def replaced(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def printed(keras, name, loader, data):
    """What a program prints, without the data sets and weights that Keras downloads."""
    vgg16 = keras.applications.VGG16
    without = lambda weights, **rest: vgg16(weights=None, **rest)
    with contextlib.ExitStack() as stack:
        stack.enter_context(replaced(getattr(keras.datasets, loader), "load_data", data))
        stack.enter_context(replaced(keras.applications, "VGG16", without))
        out = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        keras.utils.set_random_seed(1)
        runpy.run_path(os.path.join(ROOT, "examples", "train", name), run_name="__main__")
    return out.getvalue()


#: The program, what it loads, the accuracy that it reaches in training, and the epochs.
PROGRAMS = {
    "mnist_sequential.py": ("mnist", mnist, 0.9, 5),
    "mnist_functional.py": ("mnist", mnist, 0.6, 5),
    "text_lstm.py": ("imdb", reviews, 0.9, 3),
    "vgg16_head.py": ("cifar10", cifar10, 0.0, 2),
}


def programs(cases, keras):
    for name, (loader, data, least, epochs) in PROGRAMS.items():
        if loader != "imdb" and not os.path.isdir(DATASETS):
            cases.leave_out(1, "no corpus of images: set DLC_CORPUS")
            continue
        with cases.case(name):
            text = printed(keras, name, loader, data)
            # The accuracy in training: the averages of norms need more steps than these.
            found = re.findall(r"^epoch .*?  accuracy ([\d.]+)", text, re.M)
            if len(found) != epochs or float(found[-1]) < least or "test accuracy:" not in text:
                raise Failure(text)
