"""Finds wrong labels of graphs: the Python side of graphcleaner."""
