"""Every error a user can meet. A message says what is wrong, where, and what to do."""


class SvmCompileError(Exception):
    """Root of all errors raised on purpose; the command line shows it without a traceback."""

    exit_code = 2


class ReadError(SvmCompileError):
    """A model, program or data file cannot be read."""


class UnsupportedError(SvmCompileError):
    """The input is valid, but it cannot be compiled."""


class OptionError(SvmCompileError):
    """An option or argument has a value that makes no sense."""


class MissingValueError(OptionError, ValueError):
    """A row holds NaN or an infinity; a `ValueError`, as scikit-learn raises."""


class CheckError(SvmCompileError):
    """A program is not well formed."""


class EmitError(SvmCompileError):
    """A program cannot be written for the chosen target."""


class ToolchainError(SvmCompileError):
    """A C compiler or a run-time library is missing or failed."""

    exit_code = 3


class VerifyError(SvmCompileError):
    """Two things that should agree cannot be compared."""
