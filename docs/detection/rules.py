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
FIT, MODEL, VOTES = LABEL_MODEL + "fit.go", LABEL_MODEL + "model.go", LABEL_MODEL + "votes.go"
CALIBRATION, COMBINE = "cleaner/internal/calibration/calibration.go", "cleaner/combine.go"
COMPATIBILITY, SMOOTH = "cleaner/compatibility.go", "cleaner/smooth.go"
BASE, INPUT = "cleaner/base.go", "cleaner/base_input.go"
MEDIAN = (FIT, "rows.Joint >= manyWrong", "false")
BETTER = "i == 0 || model.Rate < least*candidate.Rate && candidate.Weights[0] >= heardWeight*model.Weights[0]"
AGREE = "!disagree(p.arcs, p.classes)"
PRIOR = "logBeta(p, max(joint, PriorRate))"
OPERATOR = "\n\t\top := ops.Operator{Hops: opt.Hops"
UNSMOOTHED = (INPUT, "if err == nil {" + OPERATOR, "if err == nil && opt.Hops == 0 {" + OPERATOR)
SEEN = "ratio < leastRateShare && first || ratio < mostRateFallen && (drives || preferred)"
RULES = [
    rule("default", ""),
    # The label model.
    rule("background", "predictions as they are", FIT, "\ttries := 2\n", "\ttries := 1\n", *MEDIAN),
    rule("choice of the background", "always taken off", FIT, BETTER, "i < 2 && least > 0"),
    rule("third background, of the median", "two are tried", *MEDIAN),
    rule("doubt about poor predictions", "never",
         LABEL_MODEL + "doubtful.go", "of.Joint = joint\n", "if of.Joint = joint; true {\n\t\treturn\n\t}\n"),
    rule("likelihood to the power 1/3", "power 1", FIT, "dependence = 3", "dependence = 1"),
    rule("penalty of the weights", "hardly any", FIT, "weightPenalty   = 1 ", "weightPenalty   = 1e-6 "),
    rule("no weight below zero", "any weight", LABEL_MODEL + "maximize.go", "s.weights[i]+step[i] < 0", "false",
         LABEL_MODEL + "maximize.go", "max(0, s.weights[i]+length/furthest)", "s.weights[i] + length/furthest"),
    rule("P1 … PK have no weight", "they have one", MODEL, "f := width/2 + 1; f < width", "f := 1; f < width"),
    rule("flips are learned", "uniform", FIT, "uniform: of.Doubtful", "uniform: true"),
    rule("a quarter of the flips is uniform", "none is", MODEL, "anyFlip      = 0.25", "anyFlip      = 0.0 "),
    rule("prior counts of flips", "hardly any", FIT, "max(leastFlips, flipShare*float64(rows))", "1e-6"),
    rule("agreement is at least .001", "1e-6", MODEL, "featureFloor = 1e-3", "featureFloor = 1e-6"),
    rule("four rivals of a label", "all classes", MODEL, "modelClasses = 4 ", "modelClasses = 1 << 20 "),
    rule("prior of the rate around 1/11", "flat; joint alone", CALIBRATION, PRIOR, "logBeta(p, joint)",
         CALIBRATION, "profile[i] + logBeta(p, PriorRate)", "profile[i] + 0*p"),
    # Votes of the neighbours.
    rule("votes where neighbours disagree", "never", COMPATIBILITY, AGREE, "p != nil"),
    rule("no votes where neighbours agree", "votes always", COMPATIBILITY, AGREE, "p == nil"),
    rule("compatibility leans to zero", "as counted", VOTES, "compatibleArcs  = 10", "compatibleArcs  = 1e-3",
         VOTES, "compatibleShare = 0.05", "compatibleShare = 0.0"),
    rule("votes count as no more than 20", "all", VOTES, "mostVoters      = 20", "mostVoters      = 1e6"),
    # The rate and the threshold.
    rule("calibration", "the rate of the fit",
         LABEL_MODEL + "calibrate.go", "rows.Joint, of.Expect,", "rows.Joint, m.Rate,"),
    rule("hypothesis of doubt", "weight 1e-9", CALIBRATION, "doubtWeight  = 0.15", "doubtWeight  = 1e-9"),
    rule("rate near that of confident learning", "1/11 instead", CALIBRATION, "math.IsNaN(joint) {", "true {"),
    rule("threshold of the greatest expected F1", ".5", CALIBRATION, "e.Threshold = e.Score(cut)", "e.Threshold = 0.5"),
    rule("threshold on all nodes where few are wrong", "on the sample",
         "cleaner/posterior.go", "fewMislabels = 5", "fewMislabels = 0"),
    # The built-in classifier.
    rule("correct and smooth", "neither", SMOOTH, "{0, 0.5, 1}", "{0}", SMOOTH, "{0, 0.25, 0.5, 0.75}", "{0}",
         where="classifier"),
    rule("features are smoothed over 2 hops", "as they are", *UNSMOOTHED, where="features"),
    rule("choice of the input dropout", ".5", BASE, "{0.5, 0.2}", "{0.5}", where="features"),
    rule("mixed inputs where neighbours disagree", "never",
         INPUT, "if disagree {", "if disagree && false {", where="features"),
    rule("no mixed inputs where neighbours agree", "tried always",
         INPUT, "if disagree {", "if disagree || true {", where="features"),
    rule("labels over 3 hops", "1 hop", INPUT, "labelHops       = 3", "labelHops       = 1", where="structure"),
    # Joining predictions from outside, U, with those of the built-in classifier, B.
    rule("joining", "U as given",
         "cleaner/methods.go", "v.preset == PresetDefault && t.foreign", "false", where="joining"),
    rule("learned weights of B and U", "1 and 1",
         COMBINE, "g.weights = weights\n", "g.weights = append(weights[:0], 1, 1)\n", where="joining"),
    rule("U that has seen the labels is left out", "never", COMBINE, SEEN, f"({SEEN}) && false", where="joining"),
    *(rule(f"… where {name}", "not for that", COMBINE, SEEN, SEEN.replace(word, f"{word} && false"), where="joining")
      for name, word in (("the rate falls below .7", "first"), ("U drives B out", "drives"),
                         ("U prefers wrong labels", "preferred"))),
]
MAKERS = [
    rule("in sample", "",
         "cleaner/base_fold.go", "return min(max(foldedRows/rows, leastFolds), mostFolds)", "return 1"),
    rule("out of fold", "", *UNSMOOTHED),
]
