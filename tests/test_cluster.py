"""Training and scoring on a local Dask cluster of several processes, one of which is killed midway."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import dump_svmlight_file, make_classification

import svmcompile as sc
from svmcompile.accelerate.dtsvm.options import TrainOptions
from svmcompile.accelerate.dtsvm.training import train_classifier
from svmcompile.accelerate.registry import parse_options
from svmcompile.cluster import connected
from svmcompile.commands import predict, train
from svmcompile.commands.options import PredictOptions
from svmcompile.commands.options import TrainOptions as TrainFlags
from svmcompile.data import partition_files, read_partitions
from svmcompile.errors import ToolchainError
from svmcompile.progress import showing

pytest.importorskip("distributed", reason="extra dask is not installed")
pyarrow = pytest.importorskip("pyarrow", reason="extra arrow is not installed")
pytestmark = pytest.mark.slow

GIVEN = {"C": "1,10", "gamma": "0.5,2", "ceiling": 150, "max_ceiling": 600}


@pytest.fixture(scope="module")
def rows():
    return make_classification(
        1500,
        6,
        n_informative=5,
        n_redundant=1,
        n_classes=3,
        n_clusters_per_class=2,
        flip_y=0.02,
        random_state=0,
    )


@pytest.fixture
def parquet(rows, tmp_path):
    """The rows in four files of a folder."""
    import pyarrow.parquet

    X, y = rows
    folder = tmp_path / "rows"
    folder.mkdir()
    for at, part in enumerate(np.array_split(np.arange(len(X)), 4)):
        columns = {f"f{k}": X[part, k] for k in range(X.shape[1])} | {"kind": y[part]}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"part-{at}.parquet")
    return folder


def same_leaves(one, other):
    assert len(one.model.leaves) == len(other.model.leaves)
    for left, right in zip(one.model.leaves, other.model.leaves, strict=True):
        np.testing.assert_array_equal(left.weights, right.weights)
        np.testing.assert_array_equal(left.vectors, right.vectors)


def test_a_worker_that_dies_midway_loses_nothing(rows):
    X, y = rows
    options = parse_options("dtsvm", TrainOptions, GIVEN)
    alone = train_classifier(X, y, 3, options)
    killed = []
    with connected("local:3") as client:
        workers = client.run(os.getpid)

        @contextmanager
        def kill_one(what, total):
            def advance(done):
                if not killed:
                    killed.append(next(iter(workers.values())))
                    os.kill(killed[0], signal.SIGKILL)

            yield advance

        with showing(kill_one):
            shared = train_classifier(X, y, 3, options)
        assert killed and killed[0] not in client.run(os.getpid).values()
    assert [one.as_dict() for one in alone.tried] == [one.as_dict() for one in shared.tried]
    same_leaves(alone, shared)


def test_a_task_that_no_worker_survives_is_an_error():
    """joblib alone would wait for its result for ever."""
    with pytest.raises(ToolchainError, match="4 workers died"), connected("local:2"):
        list(Parallel(return_as="generator_unordered")(delayed(_die_at)(at) for at in range(3)))


def _die_at(at):
    if at == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return at


def test_partitioned_files_are_trained_on_and_scored_on_a_cluster(rows, parquet, tmp_path):
    X, _ = rows
    stored, folder, output = tmp_path / "model.svmc", tmp_path / "out", tmp_path / "labels.npz"
    given = [f"{key}={value}" for key, value in GIVEN.items()]
    flags = TrainFlags(data=parquet, output=stored, set_=given, label="kind", cluster="local:2")
    report = train.run(flags)
    assert report["n_rows"] == len(X) and report["accuracy"] > 0.85
    program = sc.Program.load(stored)
    assert program.input.feature_names == tuple(f"f{k}" for k in range(6))
    sc.write(sc.emit(program, name="model"), folder)
    flags = {"folder": folder, "data": parquet, "label": "kind", "scores": True}
    figures = predict.run(PredictOptions(output=output, cluster="local:2", **flags))
    assert figures["rows"] == len(X) and figures["partitions"] == 4
    with np.load(output) as found:
        local = sc.load(folder)
        np.testing.assert_array_equal(found["label"], local.predict(X))
        np.testing.assert_array_equal(found["scores"], local.decision_function(X))
    alone = tmp_path / "alone.npz"
    predict.run(PredictOptions(output=alone, **flags))
    assert alone.read_bytes() == output.read_bytes()


def test_a_folder_of_libsvm_files_is_one_set(tmp_path):
    X = np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 0], [0, 5, 0]])
    dump_svmlight_file(X[:2], [1, 2], str(tmp_path / "a.libsvm"), zero_based=False)
    dump_svmlight_file(X[2:], [2, 1], str(tmp_path / "b.libsvm"), zero_based=False)
    data = read_partitions(tmp_path)
    np.testing.assert_array_equal(data.X, X)  # the last column is missing from the second file
    assert data.y.tolist() == [1, 2, 2, 1] and len(partition_files(tmp_path)) == 2


def test_files_that_do_not_belong_together_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 3)), y=np.zeros(2))
    np.savez(tmp_path / "b.npz", X=np.zeros((2, 4)), y=np.zeros(2))
    with pytest.raises(sc.ReadError, match=r"a\.npz: has 3 features, other files have 4"):
        read_partitions(tmp_path)
    np.savez(tmp_path / "b.npz", X=np.zeros((2, 3)))
    with pytest.raises(sc.ReadError, match=r"b\.npz: has labels and a\.npz has not"):
        read_partitions(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(sc.ReadError, match="holds no data files"):
        read_partitions(tmp_path / "empty")


def test_a_cluster_that_is_there_is_used(rows):
    from distributed import LocalCluster

    X, y = rows
    options = parse_options("dtsvm", TrainOptions, {"C": 1, "gamma": 1, "ceiling": 300, "max_ceiling": 300})
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with connected(cluster.scheduler_address):
            shared = train_classifier(X, y, 3, options)
        assert len(cluster.workers) == 1  # ours no longer, theirs still
    same_leaves(train_classifier(X, y, 3, options), shared)


def test_an_address_where_nobody_answers_is_named(monkeypatch):
    monkeypatch.setattr("svmcompile.cluster.CONNECT_SECONDS", 1)
    with pytest.raises(sc.OptionError, match="no scheduler answers there"), connected("tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize("where", ["local:0", "local:many", "local:"])
def test_a_cluster_of_no_processes_is_refused(where):
    with pytest.raises(sc.OptionError, match="expected local:N"), connected(where):
        pass
