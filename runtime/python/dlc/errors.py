"""What goes wrong, as exceptions."""
import enum


class Code(enum.IntEnum):
    """Why something failed: the exit codes of dlc's tools, and the status of its C API."""

    MODEL = 1  #: an error in the model or its weights
    USAGE = 2  #: a wrong call or argument: an unknown name, a wrong dtype or shape
    UNSUPPORTED = 3  #: this dlc or device cannot do it
    ACCURACY = 4  #: a result that differs by more than was allowed
    DEVICE = 5  #: device, driver, memory or I/O failed
    INCOMPATIBLE = 6  #: a damaged file, not of dlc, newer, or for another processor
    INTERNAL = 70  #: an error of dlc's own


class Error(Exception):
    """What dlc refuses or cannot do, in the sentence that its tools and its C API say."""

    def __init__(self, sentence, code):
        super().__init__(sentence)
        self.code = Code(code)  #: a dlc.Code

    def __reduce__(self):
        return type(self), (self.args[0], self.code)


class CompileError(Error):
    """What the compiler refuses: all errors of a model, each with its place."""


class CopyWarning(UserWarning):
    """An input that is copied for each run, since it is not contiguous."""


class CompileWarning(UserWarning):
    """What the compiler remarks on a model that it compiles."""
