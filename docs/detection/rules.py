"""The rules of preset default, each with the edits of the source that turn it off."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """where tells what a rule can change: "scores" of the same predictions; the "classifier", or it where there are
    "features" or the "structure" alone; the "joining" of predictions from outside."""

    name: str
    instead: str
    edits: list[tuple[str, str, str]]  # file, old text, new text
    where: str


def rule(name: str, instead: str, *edits: str, where: str = "scores") -> Rule:
    return Rule(name, instead, list(zip(*[iter(edits)] * 3)), where)


LABEL_MODEL = "cleaner/internal/labelmodel/"
FIT, MODEL, CHANNEL = LABEL_MODEL + "fit.go", LABEL_MODEL + "model.go", LABEL_MODEL + "channel.go"
MAXIMIZE, CALIBRATE = LABEL_MODEL + "maximize.go", LABEL_MODEL + "calibrate.go"
COMBINE, INPUT, RIDGE = "cleaner/combine.go", "cleaner/base_input.go", "cleaner/internal/nn/ridge.go"
OPERATOR = "\n\t\top := ops.Operator{Hops: opt.Hops"
UNSMOOTHED = (INPUT, "if err == nil {" + OPERATOR, "if err == nil && opt.Hops == 0 {" + OPERATOR)
RULES = [
    rule("default", ""),
    # The label model.
    rule("rates of pairs of classes", "one rate", FIT, "f.alike = f.told(right.likelihood) < leastTold", "f.alike = true"),
    rule("one rate where predictions tell little", "rates of pairs", FIT, "leastTold     = 0.2", "leastTold     = -1 "),
    rule("2 wrong labels of 30 before any is seen", "1 of 15", CHANNEL, "priorLabels = 30", "priorLabels = 15",
         CHANNEL, "priorWrong  = 2", "priorWrong  = 1"),
    rule("intercepts", "none", MAXIMIZE, "if !f.plain {", "if false {"),
    rule("penalty of weights and intercepts", ".01", FIT, "weightPenalty = 1 ", "weightPenalty = .01 "),
    rule("no weight below zero", "any weight", MAXIMIZE, "s.weights[i]+step[i] < 0", "false",
         MAXIMIZE, "max(0, s.weights[i]+length/furthest)", "s.weights[i] + length/furthest"),
    rule("agreement is at least .001", "1e-6", MODEL, "featureFloor = 1e-3", "featureFloor = 1e-6"),
    rule("four rivals of a label", "all classes", MODEL, "modelClasses = 4 ", "modelClasses = 1 << 20 "),
    # The rate and the threshold.
    rule("threshold of the greatest expected F1", ".5", CALIBRATE, "m.Threshold = calibration.Threshold(scores)", "m.Threshold = 0.5"),
    # The built-in classifier.
    rule("common columns are shrunk more", "all alike", RIDGE, "ridgeCommon   = 2 ", "ridgeCommon   = 0 ", where="classifier"),
    rule("features are smoothed over 2 hops", "as they are", *UNSMOOTHED, where="features"),
    rule("mixed inputs where neighbours disagree", "never",
         INPUT, "if disagree {", "if disagree && false {", where="features"),
    rule("no mixed inputs where neighbours agree", "tried always",
         INPUT, "if disagree {", "if disagree || true {", where="features"),
    rule("labels over 3 hops", "1 hop", INPUT, "labelHops       = 3", "labelHops       = 1", where="structure"),
    rule("labels count threefold", "once", INPUT, "labelShare = 3", "labelShare = 1", where="structure"),
    # Joining predictions from outside, U, with those of the built-in classifier, B.
    rule("joining", "U as given",
         "cleaner/methods.go", "v.preset == PresetDefault && t.foreign", "false", where="joining"),
    rule("learned weights of B and U", "1 and 1",
         COMBINE, "g.weights = weights\n", "g.weights = append(weights[:0], 1, 1)\n", where="joining"),
    rule("U that may have seen the labels is left out", "never", COMBINE, "if g.told <= mostTold {", "if true {", where="joining"),
]
MAKERS = [
    rule("in sample", "", "cleaner/base_fit.go", "fit.LeaveOut(row, int(p.labels[v]), ", "_, _, _ = row, v, ("),
    rule("out of fold", "", *UNSMOOTHED),
]
