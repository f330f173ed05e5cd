"""The UCI handwritten digits that come with scikit-learn: 1,797 grey images of 8x8, and the split
that all of this example uses. The unseen third is chosen by a fixed seed, class by class, and never
shown to training."""
import numpy as np
from sklearn.datasets import load_digits

UNSEEN = 597  # of 1,797


def split():
    """(train_x, train_y, unseen_x, unseen_y): f32 [N,1,8,8] in 0..1, i64 [N]."""
    data = load_digits()
    images = (data.images / 16.0).astype(np.float32)[:, None]
    labels = data.target.astype(np.int64)
    # Taken in turn from each class's own shuffled list: the classes stay balanced in both parts.
    random = np.random.RandomState(20240229)
    ranks = np.empty(len(labels))
    for digit in range(10):
        mine = np.flatnonzero(labels == digit)
        ranks[random.permutation(mine)] = np.arange(len(mine)) / len(mine)
    order = np.argsort(ranks, kind="stable")
    unseen, train = order[:UNSEEN], order[UNSEEN:]
    return images[train], labels[train], images[unseen], labels[unseen]
