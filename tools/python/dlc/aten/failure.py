"""What cannot be exported, and why."""


class ExportFailure(Exception):
    """Something of a module that dlc or PyTorch's export cannot take. The message is for the user;
    `node`: of the graph, or None."""

    def __init__(self, message, node=None):
        super().__init__(message)
        self.node = node


class CallFailure(ExportFailure):
    """Arguments of a call, or of dlc.compile, that are wrong."""
