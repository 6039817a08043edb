import pytest
from program import binary  # noqa: F401


@pytest.fixture
def files(tmp_path):
    """A graph of two communities of 40 nodes, with features that tell them apart weakly, written to files."""
    import numpy as np
    from scipy import sparse

    random = np.random.default_rng(7)
    n, label = 80, np.repeat(["b", "a"], 40)
    label[5] = ""
    pairs = {(min(u, v), max(u, v)) for u in range(n) for v in random.integers(0, 40, 3) + 40 * (u // 40) if u != v}
    x = (random.random((n, 12)) < 0.1 + 0.6 * np.eye(2)[np.arange(n) // 40].repeat(6, axis=1)).astype(np.float32)
    split = random.choice(["train", "val", "test"], n)

    (tmp_path / "nodes.csv").write_text("id,label\n" + "".join(f"n{v},{label[v]}\n" for v in range(n)))
    (tmp_path / "edges.csv").write_text("src,dst\n" + "".join(f"n{u},n{v}\n" for u, v in sorted(pairs)))
    (tmp_path / "splits.csv").write_text("id,split\n" + "".join(f"n{v},{split[v]}\n" for v in range(n)))
    sparse.save_npz(tmp_path / "features.npz", sparse.csr_matrix(x))
    return tmp_path
