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
from svmcompile.ir.nodes.bounded import *  # noqa: F403
from svmcompile.ir.nodes.certain import *  # noqa: F403
from svmcompile.ir.nodes.decisions import *  # noqa: F403
from svmcompile.ir.nodes.differences import *  # noqa: F403
from svmcompile.ir.nodes.encodings import *  # noqa: F403
from svmcompile.ir.nodes.ensembles import *  # noqa: F403
from svmcompile.ir.nodes.features import *  # noqa: F403
from svmcompile.ir.nodes.fixed import *  # noqa: F403
from svmcompile.ir.nodes.fixed_trees import *  # noqa: F403
from svmcompile.ir.nodes.forms import *  # noqa: F403
from svmcompile.ir.nodes.gaussian import *  # noqa: F403
from svmcompile.ir.nodes.jets import *  # noqa: F403
from svmcompile.ir.nodes.leaves import *  # noqa: F403
from svmcompile.ir.nodes.lists import *  # noqa: F403
from svmcompile.ir.nodes.normals import *  # noqa: F403
from svmcompile.ir.nodes.paths import *  # noqa: F403
from svmcompile.ir.nodes.pieces import *  # noqa: F403
from svmcompile.ir.nodes.powers import *  # noqa: F403
from svmcompile.ir.nodes.probabilities import *  # noqa: F403
from svmcompile.ir.nodes.sums import *  # noqa: F403
from svmcompile.ir.nodes.targets import *  # noqa: F403
from svmcompile.ir.nodes.taylor import *  # noqa: F403
from svmcompile.ir.nodes.trees import *  # noqa: F403
from svmcompile.ir.nodes.votes import *  # noqa: F403

# Every node class of the families above, in the order in which they are defined.
NODES: tuple[type[Node], ...] = tuple(
    one
    for one in dict(globals()).values()
    if isinstance(one, type) and issubclass(one, Node) and "__dataclass_fields__" in vars(one)
)
