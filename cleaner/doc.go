// Package cleaner finds mislabelled nodes in a stored graph and suggests labels for them.
//
// It implements GraphCleaner (Li, Xiong, Hooi: "GraphCleaner: Detecting Mislabelled Samples in Popular Graph Learning
// Benchmarks", ICML 2023, arXiv:2306.00015) over a store of package kv, with the operators of package ops.
//
//	run, err := cleaner.Clean(ctx, store, cleaner.Options{})
//
// scores every labelled node, and leaves in the store what queries ask for: the columns score, suggested, confidence
// and run.
//
// # Symbols
//
// n is the number of nodes, c of classes, K of hops. Rows are nodes by NodeID, columns classes in the order of
// kv.Tx.Classes.
//
//	ỹ        given label        [n]          the label in the store, kv.NoClass where there is none
//	y*       true label         [n]          latent
//	Y        labels             [n×c]        one-hot ỹ; the row of an unlabelled node is zero
//	P        Predictions        [n×c]        a classifier's probabilities, rows sum to 1
//	S_k      ops.Operator       [n×n]        k-th power of D^(-1/2) A D^(-1/2), diagonal cleared; streamed, never held
//	t        Run.ClassThresholds [c]         mean P[v][j] over the nodes given j
//	C        Run.ConfidentJoint [c×c]        counts, row given, column confidently predicted
//	Q[i][j]  Run.Joint          [c×c]        P(ỹ = i, y* = j)
//	Q[i|j]   Run.Transition     [c×c]        P(ỹ = i | y* = j), columns sum to 1
//	p        Run.MislabelRate   (0,1)        share of wrong labels, estimated
//	Z        Features           [n×(2K+1)]   how far the label under test agrees with what is around the node
//	s        score              [n] in [0,1] the answer: the given label is wrong
//	τ        Run.Threshold      (0,1)        a suspect has s > τ; see Suspects for the rest
//
// # Directed and weighted graphs
//
// With A_vu the weight of the arc v→u, 1 where the graph is unweighted, Options.Direction says what a node agrees with:
//
//	kv.Both  the undirected graph of weights A_vu + A_uv; 1 where unweighted and either arc is there
//	kv.Out   the nodes that its arcs lead to:     Ã = D_out^(-1/2) A D_in^(-1/2)
//	kv.In    the nodes whose arcs lead to it:     the transpose of that
//
// where D_out holds the sums of the rows of A, D_in of its columns, and rows and columns without weight are zero. S_k
// clears the diagonal of the power as ever. The property degree counts neighbours, whatever the direction and weight.
//
// # The pipeline
//
// The fitting set is the labelled nodes of the validation split: the base classifier was not trained on them, so
// what it predicts for them is honest. Where the store has no split, or one that cannot be fitted on, Splits draws it.
//
// A node is untaught where no other node with its label is in the training split or in none. The base classifier predicts
// that label of no other node, so that its predictions say nothing of whether the label is right: they are left out of
// the score of the node, for which the labels around it alone count, and the node is not in the fitting set. Clean names
// the classes of such nodes by Options.Notice. Where the store has no node at all in the training split or in none, the
// classifier has learned elsewhere, and no node is untaught.
//
//  1. Predictions. The store's own, imported through a PredictionWriter or set by SetPredictions; where there are none,
//     Predict trains the built-in base classifier on the labels outside the validation and test splits and writes them.
//
//  2. Noise. On the fitting set: class thresholds, confident joint, joint distribution, transition matrix. They tell
//     which classes are taken for which. A class that no fitting node is given takes no part.
//
//  3. Agreement features. For the label y under test of node v, in this order,
//
//     P[v][y], (S_1 P)[v][y] … (S_K P)[v][y], (S_1 Y)[v][y] … (S_K Y)[v][y]
//
//     Labels under test are the given ones, and those that they are compared with. Y is always the given labels: a label
//     under test changes its own features only. Clearing the diagonal keeps a label from voting for itself over a
//     closed walk. All labels under test share one propagation.
//
//  4. Score, by the preset.
//
//  5. Suggestion. The class with the largest prediction; its probability is the confidence. Where several classes have
//     it, the one that most neighbours are given; of those with as many, the given label, or else the one that most nodes
//     are given, and at last the first by name. It is given for every node, and never applied unless somebody accepts it.
//
// With PresetDefault, P is not always the stored predictions. Where these come from outside, the built-in classifier is
// trained beside them, and both are joined (CombinedMatrix, Run.PredictionUse). Predictions that have seen the labels of
// their nodes are left out: they repeat wrong labels, so that the mislabel rate with them falls far below the rate without.
//
// PresetPaper is GraphCleaner as published, with K = 3 and τ = 0.97. A wrong label is planted on half of the
// fitting nodes: a node labelled j becomes i ≠ j with probability Q[i|j], renormalised without its diagonal. A small network, the Detector, learns from Z which labels of the fitting set were planted (L1
// loss), and scores the given label of every labelled node. p is the mass of Q off its diagonal.
//
// PresetDefault asks for the posterior of the true class instead (Run.Model). Each class k of a node has a utility, a
// weighted sum of the logarithms of its features P0 and L1 … LK of Z[v][k], and the softmax of the utilities is the
// chance that it is the true one. Where homophily is low the neighbours' given labels are counted as votes beside them,
// each of which speaks for the classes whose nodes have such neighbours. A share p of the labels is wrong, in a way
// that is learned too, unless predictions are so poor that confusion would pass for flips (Run.Model.Doubtful).
// P1 … PK are left out: the predictions of the neighbours have learned the label under test.
// Weights, p and the way are fitted to the given labels of nodes whose prediction has not seen their label: all
// labelled nodes where the base classifier was cross-fitted, else those of the validation and test splits. Nothing is
// planted. The score is P(y* ≠ ỹ), a chance. A label is tested against four other classes: the three with the largest
// predictions, equals told apart as for the suggestion, and of the rest the one that most neighbours are given.
//
// Nothing in labels, graph and predictions tells labels that are wrong where everybody would doubt from labels that are
// hard to tell. So the scores are calibrated (Run.Model.Calibration): p is the mean over two hypotheses of how labels went
// wrong, three as soon as somebody has decided. The log-odds of all scores move so that p is their mean; their order stays.
// τ is the threshold with the greatest expected F1, unless Options.Threshold sets it. The run says between what rates p lies, and how many labels are in the grey zone. What
// settles it is what people know: Options.Expect, or decisions. A Clean takes labels that were decided on for the truth,
// and Rescore calibrates the scores of the last run anew by the decisions since.
//
// Evaluate measures how well all this finds mislabels that are known, of any of [NoiseKinds]. It works best where neighbours
// mostly have the same label: [Statistics] measures whether they have.
//
// # Thresholds with guarantees
//
// FalsePositiveThreshold and FalseNegativeThreshold give the threshold that bounds the share of clean nodes flagged, or
// of mislabelled nodes missed, from the scores and p, wherever the mislabelled nodes stand in the order. Where there
// are too few nodes for a bound they say +Inf, and the least bound that can be had.
//
// # What a run leaves
//
// Clean writes, visible all at once:
//
//	score       single  [n]         null where unlabelled; indexed
//	suggested   class   [n]
//	confidence  single  [n]
//	run         int     [n]         Run.ID
//	agreement   matrix  [n×(2K+1)]  P0 … PK, L1 … LK; NaN where unlabelled
//	combined_predictions  [n×c]     P, where predictions from outside were joined with the built-in classifier's
//
// the matrix agreement_error with the standard errors of agreement, where diagonals were sampled,
// and the Run: what was asked, the noise that was found, the confident joint as a list of what was counted in the space
// "joint/RUN", the detector or the label model, from which Explain computes what the score
// would be had the label been another, and how the agreement features of the fitting nodes are distributed. Run.Warnings says
// why scores may be less reliable than they look. A run describes the store as it was when it began; [Outdated] says what has
// changed since.
//
// # Decisions
//
// Package decide keeps what people decide about labels, in a history that is only ever added to. [Undo] takes steps back,
// [LabelsAsOf] reads the past, [Check] compares the history with labels and decisions, and [Repair] puts them right. No run
// and no import of predictions writes them.
//
// # Determinism and memory
//
// The same store, options and seed give the same bits at any number of workers and any memory budget, and on any
// processor: diagonals, built-in predictions, features, models and scores. Some processors fuse a product with the sum that
// it goes into, unless it is converted, as in a + float64(b*c), and package math is in assembly on some: exponentials and
// logarithms are those of internal/elementary. Of Evaluate three things may differ between processors: in their last
// digits p values and the scores of the method "dyb", which need the gamma function; and, very seldom, the labels of noise whose
// kind draws normal or exponential numbers of package rand, the last bits of which may differ. What is drawn at
// random is drawn in the order of the node file. With given predictions, nothing in PresetDefault but the rounding of
// sums depends on the order of the classes. No [n×c] matrix is held: predictions are read in blocks of rows,
// propagation runs in column tiles of which the features take one column a row. What is held in memory grows with n
// alone: labels and splits, five bytes a node, and what package ops holds. Z, scores, diagonals and whatever else is
// walked in order lie in files of package scratch. Where a budget is too small for the rest and one column of a tile,
// the work is refused before it begins, with an *ops.BudgetError that names the least that would do. Evaluate holds some
// thirty bytes a node more. What lies between classes counts too (see MatrixBytes): with PresetDefault no more than the
// cells that fitting nodes were counted in and 34 MB, or 512 bytes a class of more than 65,536. PresetPaper and some
// methods of Evaluate have matrices of c² numbers, three at most: 24 MB for 1,000 classes, and 9.6 GB for 20,000.
//
// # Interrupted runs
//
// Every finished stage of Clean, and of the propagation every finished tile, is kept in the directory that kv.Store.Work
// lends, under a name made of all that the results depend on. A run that was cancelled or killed and is asked for again
// goes on from there, at any budget and number of workers, to the same bits; what is missing or damaged is computed
// again. Of a finished run only the diagonals stay, for the next one, until the graph changes.
//
// Evaluate, which only reads the store, keeps what finished repeats measured where EvalOptions.Checkpoint says.
package cleaner
