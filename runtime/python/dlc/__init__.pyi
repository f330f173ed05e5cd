from .compiler import compile as compile
from .compiler import register_op as register_op
from .decoder import Decoder as Decoder
from .errors import Code as Code
from .errors import CompileError as CompileError
from .errors import CompileWarning as CompileWarning
from .errors import CopyWarning as CopyWarning
from .errors import Error as Error
from .model import KernelTime as KernelTime
from .model import Model as Model
from .model import Value as Value
from .model import load as load
from .training.trainer import Trainer as Trainer

__version__: str
__all__: list[str]
