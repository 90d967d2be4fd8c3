"""A computation written down as an ONNX graph, by operators of Python."""

from __future__ import annotations

import numpy as np


def import_onnx():
    """Return the package onnx.

    Raises
    ------
    ValueError
        It is not installed.
    """
    try:
        import onnx
    except ImportError as error:
        raise ValueError(f"onnx: {error}; pip install '.[onnx]' in the repository") from error
    return onnx


class Value:
    """An array that the model computes; operators of Python are operators of ONNX."""

    def __init__(self, graph: Graph, name: str):
        self.graph, self.name = graph, name

    def __add__(self, other):
        return self.graph.node("Add", self, other)

    def __sub__(self, other):
        return self.graph.node("Sub", self, other)

    def __rsub__(self, other):
        return self.graph.node("Sub", self.graph.constant(other), self)

    def __mul__(self, other):
        return self.graph.node("Mul", self, other)

    def __truediv__(self, other):
        return self.graph.node("Div", self, other)

    def __matmul__(self, other):
        return self.graph.node("MatMul", self, other)

    def __neg__(self):
        return self.graph.node("Neg", self)

    def __lt__(self, other):
        return self.graph.node("Less", self, other)

    def double(self):
        return self.graph.node("Cast", self, to=self.graph.onnx.TensorProto.DOUBLE)

    def at_least(self, other):
        return self.graph.node("Max", self, other)

    def at_most(self, other):
        return self.graph.node("Min", self, other)

    def apply(self, operator: str):
        return self.graph.node(operator, self)

    def sum(self, *, keep: bool = False):
        axes = self.graph.constant(np.array([1]))
        return self.graph.node("ReduceSum", self, axes, keepdims=int(keep))

    def max(self, *, keep: bool = False):
        return self.graph.node("ReduceMax", self, axes=[1], keepdims=int(keep))

    def min(self):
        return self.graph.node("ReduceMin", self, axes=[1], keepdims=0)

    def argmax(self):
        return self.graph.node("ArgMax", self, axis=1, keepdims=0)

    def largest(self, count: int):
        """Return the largest numbers of each row, falling."""
        return self.graph.node("TopK", self, self.graph.constant(np.array([count])), outputs=2)[0]

    def columns(self, start: int, end: int):
        ends = (np.array([one]) for one in (start, end, 1))
        return self.graph.node("Slice", self, *map(self.graph.constant, ends))

    def column(self, place: int):
        return self.graph.node("Gather", self, self.graph.constant(np.int64(place)), axis=1)

    def as_column(self):
        return self.graph.node("Unsqueeze", self, self.graph.constant(np.array([1])))

    def where(self, yes, no):
        return self.graph.node("Where", self, yes, no)

    def length(self):
        """Return the Euclidean norm of each row, as a column."""
        return (self * self).sum(keep=True).apply("Sqrt")

    def unit(self):
        """Return the rows divided by their norms; one of zeros stays so."""
        length = self.length()
        return self / self.graph.node("Greater", length, 0.0).where(length, 1.0)

    def softmax(self):
        powers = (self - self.max(keep=True)).apply("Exp")
        return powers / powers.sum(keep=True)

    def log_sum_exp(self):
        largest = self.max(keep=True)
        return largest.sum() + (self - largest).apply("Exp").sum().apply("Log")


class Graph:
    """Nodes, constants, inputs and outputs, as they come to be."""

    def __init__(self, onnx):
        self.onnx = onnx
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def _new(self) -> str:
        return f"v{len(self.nodes) + len(self.constants)}"

    def constant(self, value) -> Value:
        """Return a constant; numbers of single precision are kept as they are, and widened."""
        array = np.asarray(value)
        made = Value(self, self._new())
        self.constants.append(
            self.onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape),
                                              made.name)
        )  # fmt: skip
        return made.double() if array.dtype == np.float32 else made

    def node(self, operator: str, *values, outputs: int = 1, **attributes):
        """Return what an operator makes of values; numbers and arrays become constants."""
        known = [one if isinstance(one, Value) else self.constant(one) for one in values]
        named = [Value(self, f"{self._new()}_{i}") for i in range(outputs)]
        self.nodes.append(
            self.onnx.helper.make_node(
                operator, [one.name for one in known], [one.name for one in named], **attributes
            )
        )
        return named[0] if outputs == 1 else named

    def input(self, name: str, width: int) -> Value:
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["N", width]))
        return Value(self, name)

    def output(self, name: str, value: Value, kind: str) -> None:
        helper = self.onnx.helper
        self.nodes.append(helper.make_node("Identity", [value.name], [name]))
        kind = getattr(self.onnx.TensorProto, kind)
        self.outputs.append(helper.make_tensor_value_info(name, kind, ["N"]))
