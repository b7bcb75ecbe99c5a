"""Large sparse models and rows within memory in proportion to what is not zero: limits hold in a child."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MODEL = """
import resource, sys
import numpy as np
from scipy.sparse import random as made_up
import svmcompile as sc
from svmcompile.errors import OptionError

words, vectors = 200_000, 1500  # 2.4 GB as a dense table
random = np.random.default_rng(0)
lines = []
for at in range(vectors):
    columns = np.unique(random.integers(1, words, 20))
    pairs = " ".join(f"{column}:{value:.4f}" for column, value in zip(columns, random.random(len(columns))))
    lines.append(f"{1 if at < vectors // 2 else -1} {pairs}")
kernel = sys.argv[2]
head = f"svm_type c_svc\\nkernel_type {kernel}\\n" + ("gamma 0.5\\n" if kernel == "rbf" else "")
head += f"nr_class 2\\ntotal_sv {vectors}\\nrho 0.1\\nlabel 0 1\\nnr_sv 750 750\\nSV\\n"
path = sys.argv[1] + "/text.model"
open(path, "w").write(head + "\\n".join(lines) + "\\n")
rows = made_up(400, words, density=1e-4, random_state=1, format="csr")

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 1000 * (1 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
program = sc.compile(path, n_features=words)
for profile in ("portable", "host"):
    sc.emit(program, "c", name="text", profile=profile)
onnx = sc.emit(program, "onnx", name="text")["text.onnx"]
assert len(onnx) < 3 << 20, len(onnx)
program.save(sys.argv[1] + "/text.svmc")
again = sc.Program.load(sys.argv[1] + "/text.svmc")
found = again.decision_function(rows)
assert found.shape == (400,) and np.isfinite(found).all()
refused = [
    lambda: sc.compile(path, n_features=words, labels="certain"),
    lambda: sc.compile(path, n_features=words, method="dtsvm", X=rows),
    lambda: sc.compile(path, n_features=words, method="reduced-set"),
]
if kernel == "rbf":  # a linear model is one vector in the end, which may be dense
    refused += [
        lambda: sc.emit(program, "blob"),
        lambda: sc.emit(program, "c", precision="q15", ranges=(0, 1)),
        lambda: sc.emit(program, "c", profile="device"),
    ]
for call in refused:
    try:
        call()
    except OptionError as error:
        assert "(1,500 x 200,000) would take 2.4 GB as a dense table" in str(error), error
    else:
        raise AssertionError("was not refused")
print("done")
"""

TRAINING = """
import resource, sys
import numpy as np
from scipy.sparse import csr_matrix
import svmcompile as sc
from svmcompile.commands import options, train
from pathlib import Path
from sklearn.datasets import dump_svmlight_file

random = np.random.default_rng(0)
rows, words = 3000, 100_000  # 2.4 GB as a dense table
y = random.integers(4, size=rows)
columns = np.sort(random.integers(0, words // 30, (rows, 30)) * 30 + np.arange(30), axis=1)
columns[:, 0] = y * 30  # tells the class of most rows
starts = np.arange(0, columns.size + 1, 30)
X = csr_matrix((random.random(columns.size), columns.ravel(), starts), (rows, words))
X.sort_indices()
path = sys.argv[1] + "/text.svmlight"
dump_svmlight_file(X, y, path, zero_based=False)

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 1000 * (1 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
given = {"kernel": "linear", "C": 1.0, "ceiling": 500, "max_ceiling": 500}
program = sc.train(X, y, **given)
assert (program.predict(X) == y).mean() > 0.9
assert sum(table.nbytes for table in program.tables.values()) < 40 * (1 << 20)
told = train.run(
    options.TrainOptions(
        data=Path(path), output=Path(sys.argv[1] + "/text.svmc"), method="dtsvm",
        set_=[f"{key}={value}" for key, value in given.items()],
    )
)
assert told["n_rows"] == rows and told["accuracy"] > 0.9, told
print("done")
"""


def run(code: str, *arguments: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip().endswith("done"), done.stderr[-3000:]


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_wide_model_compiles_within_a_gigabyte(kernel: str, tmp_path: Path) -> None:
    run(MODEL, str(tmp_path), kernel)


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
def test_dtsvm_trains_within_memory_in_proportion_to_entries(tmp_path: Path) -> None:
    run(TRAINING, str(tmp_path))
