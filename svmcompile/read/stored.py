"""skops files: the tree that a file describes becomes an estimator of plain values; nothing is called.

skops builds what a file names, and a file may name any function of a module that is trusted. So the tree is
read here instead: numbers, text and containers are made by this module, estimators that svmcompile knows
are made without their constructor, and all else of scikit-learn, numpy and scipy (functions, scorers,
splits, generators) becomes an `Inert` that has a name and attributes, and does nothing.
"""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.arrays import read_array
from svmcompile.errors import ReadError

SCHEMA = "schema.json"
NEWEST = 2  # the protocol of skops files
MAX_DEPTH = 100
FREE_SCHEMA = 1 << 22  # bytes of description, which take about ten times as much once parsed
FREE_BYTES, GROWTH = 1 << 26, 64  # a file of n bytes may unpack to the larger of FREE_BYTES and GROWTH * n
NODE = 8  # what an object weighs, in numbers
HARMLESS = ("builtins", "collections", "functools", "numpy", "operator", "scipy", "sklearn")


def _whole(text: str) -> int:
    """A number of 64 bits or so; many longer ones could be made to have one hash."""
    if len(text) > 20:
        raise ValueError("a whole number of more than 20 digits")
    return int(text)


KEYS: dict[str, Callable[[str], Any]] = {
    "builtins.str": str, "builtins.int": _whole, "builtins.float": float, "builtins.bool": "True".__eq__,
    "numpy.str_": str, "numpy.int64": _whole, "numpy.float64": float, "numpy.bool": "True".__eq__,
}  # fmt: skip
PUBLIC = {
    "sklearn.svm": "SVC NuSVC LinearSVC SVR NuSVR LinearSVR OneClassSVM",
    "sklearn.discriminant_analysis": "LinearDiscriminantAnalysis",
    "sklearn.linear_model": "SGDClassifier SGDOneClassSVM SGDRegressor LogisticRegression "
    "LogisticRegressionCV Lasso LassoCV Ridge RidgeCV LinearRegression ElasticNet ElasticNetCV "
    "RidgeClassifier RidgeClassifierCV Perceptron PassiveAggressiveClassifier PassiveAggressiveRegressor "
    "Lars LarsCV LassoLars LassoLarsCV LassoLarsIC OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV "
    "BayesianRidge ARDRegression HuberRegressor TheilSenRegressor QuantileRegressor "
    "MultiTaskLasso MultiTaskLassoCV MultiTaskElasticNet MultiTaskElasticNetCV",
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration "
    "_TemperatureScaling",
    "sklearn.ensemble": "VotingClassifier BaggingClassifier AdaBoostClassifier VotingRegressor "
    "BaggingRegressor StackingClassifier StackingRegressor",
    "sklearn.multioutput": "MultiOutputRegressor MultiOutputClassifier ClassifierChain",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.decomposition": "PCA IncrementalPCA TruncatedSVD KernelPCA",
    "sklearn.feature_extraction.text": "CountVectorizer TfidfVectorizer TfidfTransformer HashingVectorizer",
    "sklearn.feature_selection": "VarianceThreshold SelectKBest SelectPercentile SelectFromModel SelectFpr "
    "SelectFdr SelectFwe GenericUnivariateSelect RFE RFECV SequentialFeatureSelector",
    "sklearn.frozen": "FrozenEstimator",
    "sklearn.gaussian_process": "GaussianProcessRegressor GaussianProcessClassifier",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "RBF Matern RationalQuadratic DotProduct ConstantKernel "
    "WhiteKernel Sum Product Exponentiation",
    "sklearn.impute": "SimpleImputer MissingIndicator",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.kernel_ridge": "KernelRidge",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.model_selection": "GridSearchCV RandomizedSearchCV",
    "sklearn.model_selection._search_successive_halving": "HalvingGridSearchCV HalvingRandomSearchCV",
    "sklearn.multiclass": "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier _ConstantPredictor",
    "sklearn.pipeline": "Pipeline FeatureUnion",
    "sklearn.preprocessing": "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer "
    "PolynomialFeatures FunctionTransformer LabelBinarizer LabelEncoder KernelCenterer OneHotEncoder "
    "OrdinalEncoder TargetEncoder KBinsDiscretizer QuantileTransformer SplineTransformer PowerTransformer",
}
NUMBER_TYPES = ("float32", "float64", "int32", "int64")
ESTIMATORS = {name: module for module, names in PUBLIC.items() for name in names.split()}


FUNCTIONS = {
    "numpy": ("exp", "expm1"),
    "sklearn.metrics.pairwise": (
        "linear_kernel", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel", "laplacian_kernel",
        "chi2_kernel", "additive_chi2_kernel", "cosine_similarity",
    ),
}  # fmt: skip


class Inert:
    """Something of a file that is not needed: its attributes are there, and it does nothing."""


def load_skops(
    content: bytes, where: str, *, trust_pickle: bool = False, n_features: int | None = None
) -> object:
    """The estimator in a skops file; an error names a type that is neither known nor harmless."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = _Tree(archive, where, len(content)).root()
    except ReadError:
        raise
    except Exception as error:  # the file may be anything
        raise ReadError(f"{where}: is a damaged skops file ({type(error).__name__}: {error})") from None
    if isinstance(found, Inert):
        raise ReadError(
            f"{where}: holds a {type(found).__name__}, which is no estimator that can be compiled"
        )
    return found


class _Tree:
    """The nodes of one file. Those with an `__id__` that came before are the same object again."""

    def __init__(self, archive: zipfile.ZipFile, where: str, size: int) -> None:
        self.archive, self.where, self.size = archive, where, size
        self.most_bytes = max(FREE_BYTES, GROWTH * size)
        self.left = self.most_bytes
        self.depth = self.weight = 0
        self.known: dict[int, tuple[Any, int]] = {}
        self.files: dict[str, Any] = {}

    def root(self) -> Any:
        described = self.archive.getinfo(SCHEMA).file_size
        if described > max(FREE_SCHEMA, self.size * GROWTH // 8):
            raise ReadError(
                f"{self.where}: a description of {described >> 20} MB in so small a file is refused"
            )
        schema = json.loads(self.member(SCHEMA))
        protocol = schema.get("protocol")
        if type(protocol) is not int or not 0 <= protocol <= NEWEST:
            raise ReadError(
                f"{self.where}: skops protocol {protocol!r:.40} is not known; save the model again"
            )
        return self.value(schema)

    def member(self, name: str) -> bytes:
        """The bytes of a member, as long as all of them together stay in proportion to the file."""
        info = self.archive.getinfo(name)
        self.take(info.file_size)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed in a way skops does not use by default")
        with self.archive.open(info) as stream:
            found = stream.read(info.file_size + 1)
        if len(found) != info.file_size:
            raise ValueError(f"{name} is not as long as the file says")
        return found

    def take(self, n_bytes: int) -> None:
        self.left -= n_bytes
        if n_bytes < 0 or self.left < 0:
            raise ReadError(
                f"{self.where}: would take more than {self.most_bytes >> 20} MB in memory, far more than "
                "its size on disk allows; save the model without compression, or pass the estimator "
                "from Python"
            )

    def value(self, node: dict[str, Any]) -> Any:
        """What a node stands for."""
        key = node.get("__id__")
        if key in self.known:
            found, weight = self.known[key]
            self.again(weight)
            return found
        loader = node["__loader__"]
        if loader == "CachedNode" or self.depth == MAX_DEPTH:
            raise ValueError("nodes refer to each other, or are nested too deep")
        self.depth, before = self.depth + 1, self.weight
        found = LOADERS.get(loader, _Tree.inert)(self, node)
        self.depth, self.weight = self.depth - 1, self.weight + NODE
        if isinstance(key, int):
            self.known[key] = found, self.weight - before
        return found

    def again(self, weight: int) -> None:
        """Count what is used once more: a list of lists that are the same is as long as any."""
        self.weight += weight
        self.take(8 * weight)

    def type_name(self, node: dict[str, Any]) -> tuple[str, str]:
        """Module and name; an error for a type from elsewhere."""
        module, name = str(node["__module__"]), str(node["__class__"])
        if module.split(".")[0] not in HARMLESS:
            raise ReadError(
                f"{self.where}: holds types that svmcompile does not trust: {module}.{name}; save a plain "
                "scikit-learn estimator or Pipeline without them, or, if you trust where the file comes "
                "from, load it with skops.io.load(file, trusted=[...]) and pass the estimator to "
                "svmcompile.compile"
            )
        return module, name

    def inert(self, node: dict[str, Any]) -> Any:
        _, name = self.type_name(node)
        found = type(name, (Inert,), {})()
        content = node.get("content")
        if isinstance(content, dict) and "__loader__" in content:
            attributes = self.value(content)
            if isinstance(attributes, dict):
                vars(found).update({str(key): value for key, value in attributes.items()})
        return _spline(found) if name == "BSpline" else found

    def estimator(self, node: dict[str, Any]) -> Any:
        """An estimator that can be compiled, made without its constructor; others are inert."""
        module, name = self.type_name(node)
        if ESTIMATORS.get(name) is None or module.split(".")[0] != "sklearn":
            return self.inert(node)
        kind = getattr(importlib.import_module(ESTIMATORS[name]), name)
        state = self.value(node["content"])
        if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
            raise ValueError(f"the attributes of {name} are not a dictionary")
        if state.get("memory") is not None:
            raise ReadError(
                f"{self.where}: {name} has memory={state['memory']!r:.60}, a place on disk; set it to None "
                "and save the model again"
            )
        if "n_jobs" in state:
            state["n_jobs"] = None  # the file does not decide how many processes run
        found = kind.__new__(kind)
        restore = getattr(found, "__setstate__", None)
        if restore is None:
            vars(found).update(state)
        else:
            restore(state)  # scikit-learn's own: it compares versions, then stores the attributes
        return found

    def function(self, node: dict[str, Any]) -> Any:
        """A function that readers know by its identity and never call; others are inert."""
        module, name = self.type_name(node)
        if name not in FUNCTIONS.get(module, ()):
            return self.inert(node)
        return getattr(importlib.import_module(module), name)

    def plain(self, node: dict[str, Any]) -> Any:
        return json.loads(node["content"], parse_int=_whole)

    def items(self, node: dict[str, Any]) -> list[Any]:
        return [self.value(item) for item in node["content"]]

    def mapping(self, node: dict[str, Any]) -> dict[Any, Any]:
        kinds = [".".join(self.type_name(kind)) for kind in node["key_types"]["content"]]
        items = node["content"].items()
        return {KEYS[kind](key): self.value(item) for kind, (key, item) in zip(kinds, items, strict=True)}

    def part(self, node: dict[str, Any]) -> Any:
        ends = [node["content"][name] for name in ("start", "stop", "step")]
        if not all(end is None or isinstance(end, (int, str)) for end in ends):
            raise ValueError("a slice of something else than numbers or names")
        return slice(*ends)

    def array(self, node: dict[str, Any]) -> Any:
        _, name = self.type_name(node)
        if node["type"] == "json":
            shape = tuple(int(extent) for extent in self.value(node["shape"]))
            found: NDArray[Any] = np.empty(len(node["content"]), dtype=object)
            found[:] = self.items(node)
            if len(shape) == 1:
                return found
            return np.array(found.tolist(), dtype=object).reshape(shape)
        file = str(node["file"])
        if file in self.files:
            self.again(self.files[file].size)
        else:
            self.files[file] = read_array(self.member(file)).copy()
            self.weight += self.files[file].size
        whole = self.files[file]
        return whole[()] if name != "ndarray" and whole.ndim == 0 else whole

    def number_type(self, node: dict[str, Any]) -> Any:
        return np.asarray(self.value(node["content"])).dtype

    def kind(self, node: dict[str, Any]) -> Any:
        """A number type of numpy; other classes are inert."""
        module, name = self.type_name(node)
        return getattr(np, name) if module == "numpy" and name in NUMBER_TYPES else self.inert(node)

    def sparse(self, node: dict[str, Any]) -> Any:
        """A matrix in compressed rows or columns; small enough to be held densely, or kept sparse."""
        from scipy import sparse

        from svmcompile.data.sparse import stays_sparse

        name = str(node["__class__"])
        if name not in ("csr_matrix", "csr_array", "csc_matrix", "csc_array"):
            return self.inert(node)
        with zipfile.ZipFile(io.BytesIO(self.member(str(node["file"])))) as inner:
            arrays = {
                key: read_array(_Tree(inner, self.where, self.left // GROWTH).member(f"{key}.npy"))
                for key in ("data", "indices", "indptr", "shape")
            }
        shape = tuple(int(extent) for extent in arrays["shape"])
        n_bytes = sum(array.nbytes for array in arrays.values()) + 8 * sum(shape)
        self.take(n_bytes + (0 if stays_sparse(shape, arrays["data"].size) else 8 * shape[0] * shape[1]))
        parts = tuple(arrays[key].copy() for key in ("data", "indices", "indptr"))
        made = getattr(sparse, name)(parts, shape=shape)
        made.check_format(full_check=True)  # whoever uses it would read and write where its indices say
        return made


def _spline(found: Any) -> Any:
    """A spline by its own constructor, which checks that its parts fit together; originals call it."""
    from scipy.interpolate import BSpline

    own = vars(found)
    return BSpline(own.get("_t", own.get("t")), own.get("_c", own.get("c")), own["k"], own["extrapolate"])


LOADERS: dict[str, Callable[[_Tree, dict[str, Any]], Any]] = {
    "JsonNode": _Tree.plain,
    "ObjectNode": _Tree.estimator,
    "DictNode": _Tree.mapping,
    "ListNode": _Tree.items,
    "TupleNode": lambda tree, node: tuple(tree.items(node)),
    "SetNode": lambda tree, node: set(tree.items(node)),
    "SliceNode": _Tree.part,
    "NdArrayNode": _Tree.array,
    "SparseMatrixNode": _Tree.sparse,
    "DTypeNode": _Tree.number_type,
    "FunctionNode": _Tree.function,
    "TypeNode": _Tree.kind,
}
