"""Notes for the user: where the exact sum is the faster of the two in C."""

from __future__ import annotations

from svmcompile.accelerate.sv_tree.fallback import Fallback
from svmcompile.model.svm import SVM

# Nanoseconds on a processor with vector instructions, one row per call. The exact sum takes
# many vectors side by side; on a path each kernel value waits for the one before.
EXACT_PER_VECTOR, EXACT_PER_FEATURE = 0.35, 0.02
ON_PATH = 50.0


def remarks(svm: SVM, evaluations: float, fallback: Fallback | None) -> tuple[str, ...]:
    """A recommendation of the exact method where it is expected to be faster."""
    if svm.kernel.kind == "precomputed":  # what a kernel costs is not known
        return ()
    exact = svm.n_vectors * (EXACT_PER_VECTOR + EXACT_PER_FEATURE * svm.kernel_width)
    tree = ON_PATH * evaluations + (fallback.share * exact if fallback else 0.0)
    if tree < exact:
        return ()
    return (
        f"method exact is expected to be {tree / exact:.1f} times as fast in C with profile host: it takes "
        f"{svm.n_vectors} kernel values side by side, a path takes {evaluations:.1f} one after another",
    )
