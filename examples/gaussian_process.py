"""A Gaussian process in C: values with their standard deviations, beside scikit-learn's.

Trains on 200 rows of scikit-learn's diabetes data, writes C and ONNX to out/gaussian_process, and prints
how far both are from scikit-learn on the other rows, and how many of these lie within two deviations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmcompile as sc

TRAINED = 200


def train() -> tuple[Any, Any, Any]:
    """The process, and rows it has not seen with their values."""
    X, y = load_diabetes(return_X_y=True)
    kernel = 1.0 * Matern(length_scale=3.0, nu=1.5) + WhiteKernel(0.5)
    process = make_pipeline(
        StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    )
    return process.fit(X[:TRAINED], y[:TRAINED]), X[TRAINED:], y[TRAINED:]


def main(folder: Path = Path("out/gaussian_process")) -> None:
    process, rows, truth = train()
    program = sc.compile(process)
    sc.write(sc.emit(program, ("c", "onnx"), "gaussian"), folder)
    mean, deviation = process.predict(rows, return_std=True)
    print(f"{'':14}{'mean off by':>14}{'deviation':>14}{'within two':>14}")
    for target in ("c", "onnx"):
        model = sc.load(folder, target=target)
        values, spread = model.predict(rows), model.predict_std(rows)
        inside = (np.abs(values - truth) <= 2 * spread).mean()
        off, apart = np.abs(values - mean).max(), np.abs(spread - deviation).max()
        print(f"{target + ' f32':14}{off:>14.2g}{apart:>14.2g}{inside:>13.1%}")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
