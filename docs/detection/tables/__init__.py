"""The tables of detection, each a function of a Bench that returns lines of markdown. See README.md one folder up."""
