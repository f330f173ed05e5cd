"""Functions that are written in the language (frontend/dl/library), a file for each of theirs."""
from rows.library import (augment, boxes, cells, create, elementwise, fourier, indices, linalg,
                          losses, optimizers, order, pooling, random, shape, spectra)
