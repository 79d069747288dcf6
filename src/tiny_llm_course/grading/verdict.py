"""The ways in which a task is not done, each told in a few lines."""


class VerdictError(Exception):
    """What a graded test raises when it does not pass. Its text is for the learner."""

    status = "wrong"


class NotStartedError(VerdictError):
    """The task still has its stub, or its file or name does not exist."""

    status = "not started"


class WrongError(VerdictError):
    """The solution answered, and the answer is wrong."""


class BrokenError(VerdictError):
    """The solution raised an exception, or its file cannot be imported."""


class StepLimitError(Exception):
    """Raised by a fake model: the loop that calls it does not stop."""
