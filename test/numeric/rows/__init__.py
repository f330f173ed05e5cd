"""All numeric rows, by the family of their op (ir/dl/*/DL*.td)."""
from rows import activation
from rows import attention
from rows import compare
from rows import contraction
from rows import convolution
from rows import counted
from rows import distance
from rows import elementwise
from rows import recurrent
from rows import math
from rows import norm
from rows import index
from rows import order
from rows import patch
from rows import packed
from rows import quantized
from rows import reduction
from rows import resize
from rows import scatter
from rows import shape
from rows import window
from rows import library
from rows import dtypes  # reads the rows of the others
from rows import parts  # the same
from rows.row import ROWS
