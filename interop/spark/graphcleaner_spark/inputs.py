"""Predictions, as `graphcleaner import` takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from graphcleaner._rules import SUM_TOLERANCE

from .errors import InputError


def check_columns(path: str, columns: Sequence[str], classes: Sequence[str]) -> None:
    """Refuses columns of predictions that are no classes, or are there twice."""
    for name in columns:
        if name not in classes:
            raise InputError(f'{path}: class "{name}" of the predictions: no node is given it, the labels have '
                             f'{name_classes(classes)}')
        if list(columns).count(name) > 1:
            raise InputError(f'{path}: class "{name}" of the predictions: it is named twice')
    for name in classes:
        if name not in columns:
            raise InputError(f'{path}: class "{name}" of the labels: the predictions have {name_classes(columns)}')


def name_classes(names: Sequence[str]) -> str:
    """Some of the classes, for errors."""
    shown = ", ".join(f'"{name}"' for name in names[:10])
    return f"{shown} and {len(names) - 10} more" if len(names) > 10 else shown or "none"


def probabilities(
    path: str, columns: Sequence[str], classes: Sequence[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Makes batches of `id` and `predictions` (binary: float32 [c], in the order of classes, adding up to 1) of batches
    of `id` and `predictions`, lists of numbers in the order of columns.

    The batches raise InputError for what is no number from 0 to 1, or does not add up to 1.
    """
    places = [classes.index(name) for name in columns]

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ids = batch.column("id")
            kept = np.zeros((batch.num_rows, len(classes)), np.float32)
            kept[:, places] = _normalized(path, ids, _numbers(path, batch, columns), columns)
            offsets = np.arange(batch.num_rows + 1, dtype=np.int32) * np.int32(4 * len(classes))
            payload = pa.Array.from_buffers(pa.binary(), batch.num_rows,
                                            [None, pa.py_buffer(offsets), pa.py_buffer(kept.tobytes())])
            yield pa.RecordBatch.from_arrays([ids, payload], ["id", "predictions"])

    return rows


def _numbers(path: str, batch: pa.RecordBatch, columns: Sequence[str]) -> np.ndarray:
    """The numbers of a batch, [nodes×columns]. InputError where there is none."""
    ids, lists, width = batch.column("id"), batch.column("predictions"), len(columns)
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        v = int(wrong[0])
        raise InputError(f"{path}: predictions of node {ids[v].as_py()}: got {int(lengths[v])} numbers, want {width}")
    values = lists.flatten()
    if values.null_count:
        v, j = divmod(int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]), width)
        raise InputError(f'{path}: predictions of node {ids[v].as_py()}: "{columns[j]}" is null, want a number')
    return values.cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(len(ids), width)


def _normalized(path: str, ids: pa.Array, p: np.ndarray, columns: Sequence[str]) -> np.ndarray:
    """Predictions (float64 [nodes×classes]) divided by their sums. InputError for what is no probability, or does not
    add up to 1."""
    bad = ~((p >= 0) & (p <= 1 + SUM_TOLERANCE))  # also where p is NaN
    if bad.any():
        v, j = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f'{path}: predictions of node {ids[v].as_py()}: class "{columns[j]}" is {p[v, j]:g}, want a probability '
            f'from 0 to 1'
        )
    sums = np.zeros(len(p))
    for j in range(p.shape[1]):  # one after the other: numpy's sum has another order
        sums += p[:, j]
    far = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
    if len(far):
        v = int(far[0])
        raise InputError(f"{path}: predictions of node {ids[v].as_py()}: they add up to {sums[v]:.6g}, want 1")
    return p / sums[:, None]
