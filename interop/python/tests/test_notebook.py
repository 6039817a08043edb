"""docs/notebook.ipynb, and what notebooks show. These run in the environment of a wheel, too: see test_wheel.py."""

from pathlib import Path

import pytest
from test_client import program  # noqa: F401

import graphcleaner

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

HERE = Path(__file__).parent
NOTEBOOK = next(path for path in (HERE / "notebook.ipynb", *(up / "docs" / "notebook.ipynb" for up in HERE.parents))
                if path.exists())


def executed(notebook, monkeypatch, tmp_path):
    """The texts and the pages that the cells of a notebook printed."""
    monkeypatch.setenv("PYTHONPATH", str(Path(graphcleaner.__file__).parents[1]))
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return "".join(out.get("text", "") for out in outputs), [out["data"]["text/html"] for out in outputs
                                                             if "text/html" in out.get("data", {})]


def test_notebook_of_docs(monkeypatch, tmp_path):
    pytest.importorskip("sklearn")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    kept = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert len(kept) >= 7 and not any(out.output_type == "error" for out in kept) and NOTEBOOK.stat().st_size < 64 << 10
    # which has assertions of its own: of the suspects, the labels and the model
    said, pages = executed(notebook, monkeypatch, tmp_path)
    assert "wrong labels: 123 before, " in said and "accuracy on pictures that nobody had seen: 0." in said
    assert any(page.startswith("<svg ") for page in pages) and any("<table" in page for page in pages)


def test_progress_in_a_notebook(monkeypatch, tmp_path):
    cell = ("import numpy, graphcleaner\nlabels = numpy.arange(60) % 3\nends = numpy.array([(i, j) for i in range(60) "
            "for j in (i + 3, i + 6) if j < 60])\n"
            "found = graphcleaner.clean(labels, ends, numpy.eye(3)[labels] * 0.7 + 0.1, as_given=True, progress=True)")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    said, _ = executed(notebook, monkeypatch, tmp_path)
    assert "export" in said and "Warning" not in said
