"""The whole node set of the intermediate representation, a family to a file.

A program is a list of nodes; each computes one named value from earlier ones.
Nodes hold names and settings, arrays live in the program's tables, so nodes
hash, compare and print. A node class says all there is to say of it: what type it
gives, what it means (in plain numpy), what it costs and what rounding does to it.

Levels. *Math* nodes say what is computed, in real numbers. *Machine* nodes say
how, one per C routine, with table layout and number type fixed. Nodes whose
layout is already fixed stand on both levels. The ONNX backend emits from math
nodes, the C backend from machine nodes.

Shifts. Every `shift` and `centre` table holds float32 numbers, whatever the
program's precision: all targets subtract the same number from the input, so
features with a large mean lose nothing in float32.

Non-finite input. A kernel sum, affine or quadratic function of a row that
holds a NaN or an infinity is NaN, and every comparison with NaN is false.
`Fill` makes numbers of NaN, and features that are not picked do not matter.

Trees. A route walks a tree and gives the leaf a row falls into. A child that is
not negative is a node, always later than its parent; a negative one is the leaf
~child. "Above the threshold" goes right, all else left, NaN too.

Lazy values. A program is a pure function, so it does not matter to its meaning
when a value is computed. Operands marked `Lazy` are those a backend computes
only for the rows that need them; `cost` counts them by the share of such rows.
"""

from __future__ import annotations

from svmcompile.ir.kinds import Kind as Kind
from svmcompile.ir.kinds import Level as Level
from svmcompile.ir.kinds import Type as Type
from svmcompile.ir.kinds import Value as Value
from svmcompile.ir.node import Node as Node
from svmcompile.ir.node import index_tables as index_tables
from svmcompile.ir.node import lazy_operands as lazy_operands
from svmcompile.ir.node import operands as operands
from svmcompile.ir.node import table_names as table_names
from svmcompile.ir.nodes.bounded import BoundedSum as BoundedSum
from svmcompile.ir.nodes.bounded import Widen as Widen
from svmcompile.ir.nodes.decisions import Add as Add
from svmcompile.ir.nodes.decisions import ArgMax as ArgMax
from svmcompile.ir.nodes.decisions import Guard as Guard
from svmcompile.ir.nodes.decisions import OvrScores as OvrScores
from svmcompile.ir.nodes.decisions import Reach as Reach
from svmcompile.ir.nodes.decisions import Threshold as Threshold
from svmcompile.ir.nodes.decisions import Vote as Vote
from svmcompile.ir.nodes.features import AsFeatures as AsFeatures
from svmcompile.ir.nodes.features import Clip as Clip
from svmcompile.ir.nodes.features import Cosine as Cosine
from svmcompile.ir.nodes.features import Fill as Fill
from svmcompile.ir.nodes.features import Join as Join
from svmcompile.ir.nodes.features import Missing as Missing
from svmcompile.ir.nodes.features import Normalize as Normalize
from svmcompile.ir.nodes.features import Pick as Pick
from svmcompile.ir.nodes.features import Powers as Powers
from svmcompile.ir.nodes.features import Products as Products
from svmcompile.ir.nodes.features import Scale as Scale
from svmcompile.ir.nodes.fixed import Dequantise as Dequantise
from svmcompile.ir.nodes.fixed import FixedAffine as FixedAffine
from svmcompile.ir.nodes.fixed import FixedQuadratic as FixedQuadratic
from svmcompile.ir.nodes.fixed import FixedSum as FixedSum
from svmcompile.ir.nodes.fixed import Quantise as Quantise
from svmcompile.ir.nodes.fixed import Requantise as Requantise
from svmcompile.ir.nodes.fixed_trees import FixedLeafSums as FixedLeafSums
from svmcompile.ir.nodes.fixed_trees import FixedLeaves as FixedLeaves
from svmcompile.ir.nodes.fixed_trees import FixedPath as FixedPath
from svmcompile.ir.nodes.forms import Affine as Affine
from svmcompile.ir.nodes.forms import Quadratic as Quadratic
from svmcompile.ir.nodes.jets import JetSum as JetSum
from svmcompile.ir.nodes.leaves import LeafSums as LeafSums
from svmcompile.ir.nodes.leaves import PackedLeaves as PackedLeaves
from svmcompile.ir.nodes.lists import PlaneLists as PlaneLists
from svmcompile.ir.nodes.paths import PackedPath as PackedPath
from svmcompile.ir.nodes.paths import PathSum as PathSum
from svmcompile.ir.nodes.probabilities import Complement as Complement
from svmcompile.ir.nodes.probabilities import Couple as Couple
from svmcompile.ir.nodes.probabilities import Density as Density
from svmcompile.ir.nodes.probabilities import Isotonic as Isotonic
from svmcompile.ir.nodes.probabilities import Mean as Mean
from svmcompile.ir.nodes.probabilities import Shares as Shares
from svmcompile.ir.nodes.probabilities import Shifted as Shifted
from svmcompile.ir.nodes.probabilities import Sigmoid as Sigmoid
from svmcompile.ir.nodes.sums import KernelSum as KernelSum
from svmcompile.ir.nodes.sums import PackedSum as PackedSum
from svmcompile.ir.nodes.sums import PairSum as PairSum
from svmcompile.ir.nodes.sums import Prepare as Prepare
from svmcompile.ir.nodes.sums import SparseSum as SparseSum
from svmcompile.ir.nodes.sums import TiledSum as TiledSum
from svmcompile.ir.nodes.taylor import PickedTaylor as PickedTaylor
from svmcompile.ir.nodes.taylor import TaylorSum as TaylorSum
from svmcompile.ir.nodes.taylor import TiledTaylor as TiledTaylor
from svmcompile.ir.nodes.trees import AxisRoute as AxisRoute
from svmcompile.ir.nodes.trees import LeafAffine as LeafAffine
from svmcompile.ir.nodes.trees import OneLeaf as OneLeaf
from svmcompile.ir.nodes.trees import PlaneRoute as PlaneRoute
from svmcompile.ir.nodes.votes import BoundedVote as BoundedVote
from svmcompile.ir.nodes.votes import TaylorVote as TaylorVote

NODES: tuple[type[Node], ...] = (
    Scale, Clip, AsFeatures, Pick, Normalize, Powers, Cosine, Fill, Missing, Join, Products,
    Affine, Quadratic,
    KernelSum, PairSum, Prepare, PackedSum, TiledSum, SparseSum,
    AxisRoute, PlaneRoute, LeafAffine, OneLeaf,
    PathSum, PackedPath,
    PlaneLists,
    LeafSums, PackedLeaves,
    Widen, BoundedSum,
    BoundedVote, TaylorVote,
    TaylorSum, TiledTaylor, PickedTaylor,
    JetSum,
    Add, Reach, Guard, OvrScores, Vote, ArgMax, Threshold,
    Shifted, Sigmoid, Isotonic, Density, Complement, Shares, Mean, Couple,
    Quantise, Requantise, FixedSum, FixedAffine, FixedQuadratic, Dequantise,
    FixedLeaves, FixedPath, FixedLeafSums,
)  # fmt: skip
